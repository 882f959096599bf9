// Conflicts with both values. A button asks, and says what it will do to which rows, before it resolves.

import { call } from "/service.js";
import { ago, byId, changeLine, make, plural, printable, value } from "/text.js";

const reasons = {
  lost: "A concurrent change was overridden.",
  olderIncarnation: "It was edited, but deleted and created again elsewhere.",
  hidden: "The row is not shown: it was deleted elsewhere, or a constraint keeps it out.",
  deleteLost: "A delete was overridden by a concurrent edit.",
};

export class Conflicts {
  /** How many were asked: of two, the later one holds. */
  #questions = 0;

  constructor({ open, resolved }) {
    Object.assign(this, { open, resolved });
  }

  async show(store) {
    const panel = byId("conflicts");
    try {
      const { count, conflicts } = await call("conflicts", { store });
      if (count === 0) return panel.replaceChildren(make("p", {}, "No conflicts are open."));
      panel.replaceChildren(
        make("p", {}, `${plural(count, "open conflict")}. All replicas have the same; a decision is sent to all.`),
        ...conflicts.map((conflict) => this.#article(store, conflict)));
    } catch (error) {
      panel.replaceChildren(make("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  #article(store, conflict) {
    return make("article", { class: "conflict", "data-id": conflict.id },
      make("h3", {}, make("button", { type: "button", class: "link", onclick: () => this.open(conflict.object) },
        printable(conflict.object)), conflict.properties.length > 0 ? `  ${conflict.properties.map(printable).join(", ")}` : ""),
      make("p", { class: "faint" }, reasons[conflict.reason] ?? conflict.reason),
      make("div", { class: "sides" },
        this.#side(store, conflict, "shown", "Shown now", "Keep what is shown"),
        this.#side(store, conflict, "losing", "Overridden", "Restore the overridden value")));
  }

  #side(store, conflict, keep, title, action) {
    const side = conflict[keep];
    const choice = conflict.choices[keep];
    const pairs = Object.entries(side.values ?? {});
    const writer = [side.author, side.replicaName ?? side.replica].filter(Boolean).map(printable).join(" on ");
    return make("div", { class: "side" },
      make("h4", {}, title),
      side.deleted ? make("p", { class: "bad" }, "deleted") : make("p", { class: "values" }, ...pairs.map(([name, of]) =>
        make("span", {}, make("span", { class: "property" }, printable(name)), value(of)))),
      make("p", { class: "faint" }, [writer, side.timestamp ? ago(side.timestamp) : ""].filter(Boolean).join(", ")),
      choice.refused ? make("p", { class: "warn" }, `Not possible: ${choice.refused}`)
        : make("button", { type: "button", onclick: () => this.#ask(store, conflict, keep, action) }, action));
  }

  async #ask(store, conflict, keep, action) {
    const { changes, deletedObject } = conflict.choices[keep];
    byId("confirm-title").textContent = `${action}?`;
    byId("confirm-button").textContent = action;
    const rows = changes.map((row) => changeLine({
      object: row.object, kind: row.kind, properties: Object.keys(row.after ?? {}),
      oldValues: row.before, tombstone: row.before,
    }, row.kind === "delete" ? null : row.after, () => {}));
    byId("confirm-text").replaceChildren(
      make("p", {}, rows.length > 0 || deletedObject ? "This changes, here and on all replicas:"
        : "No row changes here; the conflict is closed on all replicas."),
      make("ul", { class: "changes" }, ...rows),
      deletedObject ? make("p", { class: "bad" }, `${printable(deletedObject)} is deleted on all replicas.`) : "");
    const dialog = byId("confirm");
    dialog.returnValue = "cancel";
    dialog.showModal();
    // The end of the question before may be told when this one is open already.
    const question = ++this.#questions;
    await new Promise((resolve) => {
      const listen = () => {
        if (question === this.#questions && dialog.open) return;
        dialog.removeEventListener("close", listen);
        resolve();
      };
      dialog.addEventListener("close", listen);
    });
    if (question !== this.#questions || dialog.returnValue !== "confirm") return;
    try {
      await call("resolve", { store, id: conflict.id, keep });
      byId("announcement").textContent = "The conflict is resolved.";
    } catch (error) {
      byId("announcement").textContent = error.message;
      document.querySelector(`.conflict[data-id="${conflict.id}"]`)
        ?.append(make("p", { class: "problem", role: "alert" }, error.message));
      return;
    }
    this.resolved();
  }
}
