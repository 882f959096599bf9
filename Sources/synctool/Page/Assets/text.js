// Elements and texts. Whatever comes from a database becomes text of a node, never markup.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const lengthMax = 160;

// Control characters and those that turn the direction of text are shown, not obeyed.
export function printable(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

export function valueText(value) {
  if (value === null) return "NULL";
  if (typeof value === "string") {
    const cut = value.length > lengthMax ? `${value.slice(0, lengthMax)}…` : value;
    return `'${printable(cut)}'`;
  }
  if (typeof value !== "object") return String(value);
  if ("int" in value) return value.int;
  if ("real" in value) return value.real;
  if ("blob" in value) return `blob, ${bytes(value.blob.length * 3 / 4 - (/=*$/.exec(value.blob)[0].length))}`;
  if ("ref" in value) return `${value.ref.kind}, ${bytes(value.ref.size)}`;
  return JSON.stringify(value);
}

export function bytes(count) {
  if (count < 1000) return `${Math.round(count)} bytes`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = count / 1000;
  let unit = 0;
  for (; size >= 1000 && unit < 3; unit += 1) size /= 1000;
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export function duration(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const age = (timestamp) => (Date.now() - Date.parse(timestamp)) / 1000;
export const ago = (timestamp) => `${duration(age(timestamp))} ago`;

export function clock(timestamp) {
  const time = new Date(timestamp);
  const isToday = time.toDateString() === new Date().toDateString();
  const two = (number, width = 2) => String(number).padStart(width, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} `;
  return (isToday ? "" : day)
    + `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${two(time.getMilliseconds(), 3)}`;
}

export const value = (of, kind = "") => make("span", { class: `value ${kind}` }, valueText(of));

const marks = { insert: ["+", "inserted"], update: ["~", "updated"], delete: ["−", "deleted"] };

// One change: its kind, its object as a button, and its values before and after as far as they are known.
export function changeLine(change, after, open) {
  const [mark, word] = marks[change.kind];
  const values = make("span", { class: "values" });
  const line = make("li", { class: change.kind },
    make("span", { class: "kind", title: word, "aria-label": word, role: "img" }, mark),
    make("button", { type: "button", class: "link", onclick: () => open(change.object) }, printable(change.object)),
    values);
  fillValues(values, change, after);
  return line;
}

export function fillValues(element, change, after) {
  const before = change.kind === "delete" ? change.tombstone : change.oldValues;
  const names = change.kind === "update" ? change.properties : Object.keys(after ?? before ?? {});
  element.replaceChildren(...names.map((name) => {
    const item = make("span", {}, make("span", { class: "property" }, printable(name)));
    const old = before?.[name];
    const now = after?.[name];
    if (old !== undefined) item.append(value(old, "old"));
    if (old !== undefined && now !== undefined) item.append(" → ");
    if (now !== undefined) item.append(value(now, "new"));
    return item;
  }));
  if (change.cause) {
    element.append(make("span", { class: "cause" },
      `because of ${change.cause.kind}${change.cause.object ? ` of ${printable(change.cause.object)}` : ""}`));
  }
}

export function transactionHead(transaction, level = "span") {
  const process = transaction.process;
  const writer = [
    transaction.author ?? "author unknown",
    process ? `${process.name ?? "process"} (${process.pid})` : "",
  ].filter(Boolean).map(printable).join(", ");
  return make("div", { class: "head" },
    make(level, { class: "number" }, `#${transaction.number}`),
    make("time", { datetime: transaction.timestamp, title: transaction.timestamp }, clock(transaction.timestamp)),
    make("span", {}, writer),
    transaction.origin !== "local"
      ? make("span", { class: "faint" }, `from ${printable(transaction.originName ?? transaction.origin)}`) : "",
    ...transaction.flags.map((flag) => make("span", { class: "tag warn" }, flag)));
}

export function table(caption, columns, rows) {
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...columns.map(([name, kind]) => make("th", { scope: "col", class: kind }, name)))),
      make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, place) =>
        make("td", { class: columns[place][1] }, cell)))))));
}
