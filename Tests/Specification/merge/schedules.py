"""Writes random schedules of the simulator, with what the specification made of each step, as JSON
lines: the other side of the differential test.

  python3 schedules.py FIRST LAST

One schedule a line: {"seed", "entities", "replicas", "events"}. Events, in order:
  send     from, id, since, first (or null), facts: how many facts the batch has
  receive  to, id, merged; after
  commit   replica, number, time, rows, names, recreated, rekeyed, drawn (the random identities); after
  close    replica, number, time, names; after
  collect  replica, stable, dropped
`after` is the state of the replica: vector, rows (name, entity, members, fields, sources) and open
conflicts. A field is a plain value or {"r": identity, "p": key column}.
"""

import json, sys
import model, sim

events = []


def field(v):
    return {"r": v[1], "p": v[2]} if model.is_ref(v) else v


def key(schema, k):
    return [list(schema).index(k[0]), list(k[1])]


def state(r):
    names = list(r.schema)
    rows = [
        [
            rep,
            names.index(row.ent.name),
            row.members,
            [
                None if row.ent.private and c in row.ent.pk else field(row.vals[c])
                for c in row.ent.cols
            ],
            [source(row.src[n]) for n in range(len(row.ent.cells))],
        ]
        for rep, row in sorted(r.V.rows.items())
    ]
    conflicts = [
        source((m, -1 if n == "life" else n, dot)) + [why]
        for (m, n, dot), (why, _) in r.V.log.items()
    ]
    return {"vector": dict(r.base.vector), "rows": rows, "conflicts": sorted(conflicts)}


def source(s):
    return None if s is None else [s[0], s[1], s[2][0], s[2][1]]


def recorded_delta(base, since, upto=None, plain=model.Base.delta):
    batch = plain(base, since, upto)
    batch["id"] = len(events)
    events.append(
        {
            "do": "send",
            "from": base.owner,
            "id": batch["id"],
            "since": batch["since"],
            "first": upto,
            "facts": len(batch["facts"]),
        }
    )
    return batch


class Recorded(sim.Replica):
    """Notes what happens to it. The replica Z, which checks order independence, is left out."""

    def __init__(s, M, name, *rest):
        super().__init__(M, name, *rest)
        s.base.owner = name

    def note(s, do, **what):
        if s.name != "Z":
            events.append({"do": do, **what, "after": state(s)})

    def named(s):
        return [key(s.schema, k) + [uid] for k, uid in s.keymap.items()]

    def commit(s, edit, wall):
        names, known = s.named(), set(s.base.objs)
        t = super().commit(edit, wall)
        if t is None:
            return None
        s.note(
            "commit",
            replica=s.name,
            number=s.n,
            time=t.hlc,
            names=names,
            rows=[key(s.schema, k) + [list(row.values())] for k, row in edit.after.items()],
            recreated=[key(s.schema, k) for k in edit.again],
            rekeyed=[[key(s.schema, a), key(s.schema, b)] for a, b in edit.rekeyed.items()],
            drawn=[
                f[1]
                for f in t.facts
                if f[0] == "life" and f[4] == "C" and s.schema[f[2]].private and f[1] not in known
            ],
        )
        return t

    def close(s, wall):
        names = s.named()
        t = super().close(wall)
        s.note("close", replica=s.name, number=s.n, time=t.hlc, names=names)
        return t

    def receive(s, batch):
        merged = super().receive(batch)
        s.note("receive", to=s.name, id=batch["id"], merged=merged)
        return merged

    def gc(s, names):
        dropped = super().gc(names)
        if set(s.acks) | {s.name} >= set(names):
            own = {r: s.base.vector.get(r, 0) for r in names}
            stable = model.stable_cut(own, s.acks)
            s.note("collect", replica=s.name, stable=stable, dropped=dropped)
        return dropped


def entity(schema, e):
    place = {c: i for i, c in enumerate(e.cols)}
    return {
        "name": e.name,
        "columns": [
            {
                "name": c,
                "required": c in e.notnull,
                "default": e.defaults.get(c),
                "renameable": c in e.rename,
            }
            for c in e.cols
        ],
        "key": [place[c] for c in e.pk],
        "private": e.private,
        "claims": [
            {
                "terms": [place[c] for c in u.terms],
                "lower": sorted(place[c] for c in u.lower),
                "flag": [place[u.flag[0]], u.flag[1]] if u.flag else None,
            }
            for u in e.uniques
        ],
        "references": [
            {
                "columns": [place[c] for c in f.cols],
                "target": list(schema).index(f.target),
                "action": f.on_delete,
            }
            for f in e.fks
        ],
        "checks": [{"columns": [place[c] for c in cols], "sql": sql} for cols, sql, _ in e.checks],
        "deleteWins": e.delete_wins,
        "uniquePolicy": e.unique_policy,
    }


def main():
    sim.Replica, model.Base.delta = Recorded, recorded_delta
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        events.clear()
        schedule = sim.Sim(model, seed)
        schedule.run()
        print(
            json.dumps(
                {
                    "seed": seed,
                    "entities": [entity(schedule.schema, e) for e in schedule.schema.values()],
                    "replicas": [r.name for r in schedule.reps],
                    "events": events,
                },
                separators=(",", ":"),
            )
        )


if __name__ == "__main__":
    main()
