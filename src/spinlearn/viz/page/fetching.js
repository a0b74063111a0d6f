// Asks the server for JSON, in the page or in its worker.

async function fetchJson(address) {
  const response = await fetch(address, { cache: 'no-store', credentials: 'omit' });
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}
