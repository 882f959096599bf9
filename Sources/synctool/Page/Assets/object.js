// The life of one object: what it is now, and each change with the values before and after.

import { call } from "/service.js";
import { byId, changeLine, make, plural, printable, transactionHead, value } from "/text.js";

export async function showLife(store, object, open) {
  byId("object-name").value = object;
  const life = byId("life");
  life.setAttribute("aria-busy", "true");
  try {
    const { now, isPresent, events } = await call("object", { store, object });
    life.replaceChildren(
      make("h3", {}, printable(object)),
      isPresent
        ? make("p", { class: "values" }, ...Object.entries(now).map(([name, of]) =>
          make("span", {}, make("span", { class: "property" }, printable(name)), value(of))))
        : make("p", { class: "bad" }, "It does not exist now."),
      make("p", { class: "faint" }, `${plural(events.length, "transaction")} in the history, newest first`),
      make("ol", { class: "transactions" }, ...events.map((transaction) =>
        make("li", { tabindex: "-1" }, transactionHead(transaction),
          make("ul", { class: "changes" }, ...transaction.changes.map((change, place) =>
            changeLine(change, transaction.values[place], open)))))));
  } catch (error) {
    life.replaceChildren(make("p", { class: "problem", role: "alert" }, error.message));
  }
  life.removeAttribute("aria-busy");
}
