"""Label by looking: a server on this machine, a page in the browser, a log of every action."""
