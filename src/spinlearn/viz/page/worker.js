// In a thread of its own: unpacks the answers that it fetches, while the page goes on.

function buffersIn(value) {
  if (ArrayBuffer.isView(value)) return [value.buffer];
  return value && typeof value === 'object' ? Object.values(value).flatMap(buffersIn) : [];
}

onmessage = async ({ data: address }) => {
  try {
    const data = await unpackData(await fetchJson(address));
    const { ids, ...rest } = data; // ids are text, and many
    postMessage({ data }, buffersIn(rest));
  } catch (error) {
    postMessage({ error: error.message });
  }
};
