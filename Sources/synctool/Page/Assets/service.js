// Calls to the server of this page. The token came behind the # of the address: it is taken out of the address bar,
// and kept for this tab alone.

const key = "syncd-token";
if (/^#[0-9a-f]{64}$/.test(location.hash)) {
  sessionStorage.setItem(key, location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

export class CallError extends Error {
  constructor({ code, reason, hint }) {
    super(hint ? `${reason}. ${hint}` : reason);
    this.code = code;
  }
}

async function post(name, parameters, signal) {
  let response;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST",
      headers: {
        "Authorization": `Bearer ${sessionStorage.getItem(key) ?? ""}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify(parameters),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new CallError({ code: "ended", reason: "synctool ui has ended" });
  }
  if (response.ok) return response;
  const text = await response.text();
  let failure = { code: "refused", reason: text.trim() };
  try {
    failure = JSON.parse(text).error;
  } catch { /* it is a line of text */ }
  throw new CallError(failure);
}

export async function call(name, parameters = {}, signal = undefined) {
  return (await post(name, parameters, signal)).json();
}

// Calls `take` with each line of a reply that does not end by itself.
export async function follow(name, parameters, signal, take) {
  const response = await post(name, parameters, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
}
