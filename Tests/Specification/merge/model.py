"""Executable specification of the merge of syncd.

One sentence: a replica keeps a *base* (a join-semilattice of versioned facts; what people wrote), and
the tables that people see are a pure function of it, `view(base)`, which satisfies every constraint of
the schema whatever facts the base holds. Only facts travel. Repairs are never facts: they are the
difference between the base and its view, so they cannot disagree, loop or travel.

  Fact    life(uid, dot, kind, inc)        kind 'C' created, 'D' deleted, 'R' revived
          cell(uid, dot, n, inc, value)    the columns of cell n as one value
          alias(dot, uid, uid)             two uids are one object, for ever
  dot     (replica, number) of the transaction that stated the fact
  Txn     hlc, vv (the version vector the writer had merged); in the product also author, context

The other half is `digest`: what a person commits on top of a view is translated into facts, plus
exactly those facts ("adoptions") that make view(base) equal what was committed.
"""

import hashlib
from collections import defaultdict

# ---------------------------------------------------------------- schema


class FK:
    def __init__(self, cols, target, on_delete):
        self.cols, self.target, self.on_delete = tuple(cols), target, on_delete


class Claim:
    """What a row has for itself alone: the values of `terms`, in lower case for those of `lower`. With
    `flag` (column, value) only rows that have the value claim anything; NULL never does."""

    def __init__(self, terms, lower=(), flag=None):
        self.terms, self.lower, self.flag = tuple(terms), frozenset(lower), flag
        flagged = (flag[0],) if flag and flag[0] not in self.terms else ()
        self.cols = self.terms + flagged
        self.plain = not self.lower and flag is None

    def __repr__(self):
        return "%r %r %r" % (self.terms, sorted(self.lower), self.flag)

    def values(self, vals):
        """`vals`: the values of the columns as SQL sees them; None: the row claims nothing."""
        if self.flag and vals[self.flag[0]] != self.flag[1]:
            return None
        out = tuple(vals[c].lower() if c in self.lower and vals[c] else vals[c] for c in self.terms)
        return None if None in out else out


class Entity:
    """`uniques`: lists of columns, or claims.

    `private`: the single INTEGER PRIMARY KEY is a private number of each replica.
    `rename`: text columns of a UNIQUE that may be shown with another ending. `unique_policy`: merge,
    keepBoth or laterLoses."""

    def __init__(
        self,
        name,
        cols,
        pk,
        private,
        notnull=(),
        uniques=(),
        fks=(),
        checks=(),
        defaults=None,
        delete_wins=True,
        unique_policy="merge",
        rename=("u",),
    ):
        self.name, self.cols, self.pk, self.private = name, tuple(cols), tuple(pk), private
        self.notnull = set(notnull) | set(pk)
        self.uniques = [u if isinstance(u, Claim) else Claim(u) for u in uniques]
        self.fks, self.checks = list(fks), list(checks)
        self.defaults = defaults or {}
        self.delete_wins, self.unique_policy, self.rename = delete_wins, unique_policy, rename
        self.claims = list(self.uniques) + ([] if private else [Claim(self.pk)])
        self.cells = self._couple()
        self.cell_of = {c: i for i, cell in enumerate(self.cells) for c in cell}
        self.ways_out = {u: self._ways_out(u) for u in self.claims}

    def _ways_out(self, u):
        """How the later of two claims can be shown without uniting the rows, by preference: the
        column of a condition shown as its default, a column shown as NULL (it may be NULL, and
        nothing else looks at it), or text with another ending, under keepBoth alone. None: the rows
        become one, or the later one is hidden."""
        tied = {c for f in self.fks for c in f.cols} | {c for cs, _, _ in self.checks for c in cs}
        free = [c for c in u.terms if c not in tied and c not in self.pk]
        null = next(((c, "null", None) for c in free if c not in self.notnull), None)
        name = next(((c, "name", None) for c in free if c in self.rename), None)
        ways = [name, null] if self.unique_policy == "keepBoth" else [null]
        if u.flag and u.flag[0] not in u.terms:
            c, value = u.flag[0], self.defaults.get(u.flag[0])
            if c not in tied and c not in self.pk and not (c in self.notnull and value is None):
                ways.insert(0, (c, "reset", value))
        return [w for w in ways if w]

    def _couple(self):
        """Columns that one constraint ties together are versioned as one cell: CHECK over several
        columns, composite foreign keys, multi-column UNIQUE, the key. So no mix of versions can
        break a row-local constraint, and no mix invents a claim that nobody made."""
        cols = [c for c in self.cols if not (self.private and c in self.pk)]
        up = {c: c for c in cols}

        def find(c):
            while up[c] != c:
                c = up[c]
            return c

        ties = [f.cols for f in self.fks] + [c for c, _, _ in self.checks]
        ties += [u.cols for u in self.claims]
        for tie in ties:
            tie = [c for c in tie if c in up]
            for c in tie[1:]:
                up[find(c)] = find(tie[0])
        groups = defaultdict(list)
        for c in cols:
            groups[find(c)].append(c)
        return [tuple(g) for g in groups.values()]


def is_ref(v):
    return type(v) is tuple and v[0] == "r"


# ---------------------------------------------------------------- base


class Txn:
    __slots__ = ("dot", "hlc", "vv", "facts")

    def __init__(self, dot, hlc, vv, facts=()):
        self.dot, self.hlc, self.vv, self.facts = dot, hlc, vv, list(facts)


def covers(vv, dot):
    return vv.get(dot[0], 0) >= dot[1]


class Obj:
    __slots__ = ("ent", "life", "cells")

    def __init__(self, ent, ncells):
        self.ent = ent
        self.life = set()  # {(dot, kind, inc)}
        self.cells = [dict() for _ in range(ncells)]  # [{dot: (inc, value)}]

    def inc(self):
        return max(
            [i for _, _, i in self.life] + [i for c in self.cells for i, _ in c.values()], default=0
        )


class Base:
    def __init__(self, schema):
        self.schema = schema  # {name: Entity}
        self.vector = {}  # replica -> number
        self.txns = {}  # dot -> Txn (hlc and vv; kept until the dot is stable)
        self.order = []  # dots in the order merged here: causal, so any prefix is a cut
        self.objs = {}  # uid -> Obj
        self.aliases = {}  # {(uid, uid): dot}

    # -- joining facts: commutative, associative, idempotent

    def add_txn(self, t):
        if t.dot not in self.txns:
            self.txns[t.dot] = t
            self.order.append(t.dot)
            self.vector[t.dot[0]] = max(self.vector.get(t.dot[0], 0), t.dot[1])

    def seen_by(self, dot, other):
        """Did the transaction of `other` know the transaction of `dot`?"""
        return dot != other and covers(self.txns[other].vv, dot)

    def add_fact(self, f):
        kind = f[0]
        if kind == "alias":
            _, dot, a, b = f
            key = (min(a, b), max(a, b))
            old = self.aliases.get(key)
            self.aliases[key] = dot if old is None else min(old, dot)
            return
        _, uid, ent, dot = f[:4]
        o = self.objs.get(uid)
        if o is None:
            o = self.objs[uid] = Obj(ent, len(self.schema[ent].cells))
        if kind == "life":
            e = (dot, f[4], f[5])
            if any(self.seen_by(dot, x[0]) for x in o.life):
                return
            o.life = {x for x in o.life if not self.seen_by(x[0], dot)}
            o.life.add(e)
        else:
            n, inc, value = f[4:]
            reg = o.cells[n]
            if any(self.seen_by(dot, x) for x in reg):
                return
            for x in [x for x in reg if self.seen_by(x, dot)]:
                del reg[x]
            reg[dot] = (inc, value)

    # -- batches: the facts since a vector that are still maximal, and all transaction headers

    def delta(self, since, upto=None):
        """`upto`: how many of our transactions (in merge order) to include; a prefix is a causal cut."""
        dots = self.order if upto is None else self.order[:upto]
        send = {d for d in dots if not covers(since, d)}
        facts = []
        for uid, o in self.objs.items():
            for dot, k, inc in o.life:
                if dot in send:
                    facts.append(("life", uid, o.ent, dot, k, inc))
            for n, reg in enumerate(o.cells):
                for dot, (inc, val) in reg.items():
                    if dot in send:
                        facts.append(("cell", uid, o.ent, dot, n, inc, val))
        facts += [("alias", d, a, b) for (a, b), d in self.aliases.items() if d in send]
        return {
            "since": dict(since),
            "txns": [self.txns[d] for d in self.order if d in send],
            "facts": facts,
        }

    def apply(self, batch):
        """False: the batch starts after what we have; ask again from our vector."""
        if any(n > self.vector.get(r, 0) for r, n in batch["since"].items()):
            return False
        have = dict(self.vector)
        for t in batch["txns"]:
            self.add_txn(t)
        for f in batch["facts"]:
            dot = f[1] if f[0] == "alias" else f[3]
            if not covers(have, dot):  # what we had is merged, or was overwritten: skip
                self.add_fact(f)
        return True

    def order_key(self, dot):
        return (self.txns[dot].hlc, dot)


# ---------------------------------------------------------------- view


class Row:
    __slots__ = ("ent", "rep", "members", "vals", "src")

    def __init__(self, ent, rep, members, vals, src):
        self.ent, self.rep, self.members, self.vals, self.src = ent, rep, members, vals, src


class View:
    def __init__(self):
        self.rows = {}  # rep uid -> Row ; refs inside are ('r', rep uid, key position)
        self.where = {}  # uid -> rep uid of the visible row it is part of
        self.revived = set()  # uids shown although deleted
        self.held = set()  # living uids that a constraint keeps out of the tables
        self.log = {}  # (uid, cell, dot) -> (reason, value): facts that are not shown


class _Group:
    """The uids that aliases make one object, and the values the base gives it."""

    __slots__ = ("gid", "ent", "members", "alive", "live", "cells", "edges", "complete")


def alive(base, o, ent):
    inc = o.inc()
    life = [x for x in o.life if x[2] == inc]
    deletes = [d for d, k, _ in life if k == "D"]
    if not deletes or any(k == "C" for _, k, _ in life):
        return bool(life)  # an insert that no delete has seen stands
    if ent.delete_wins:
        return False
    edits = [d for d, k, _ in life if k == "R"]
    edits += [d for reg in o.cells for d, (i, _) in reg.items() if i == inc]
    return all(any(not base.seen_by(e, d) and e != d for e in edits) for d in deletes)


def candidates(base, o, n, live):
    """The versions of a cell that may be shown: of the newest incarnation, and, when an insert
    stands beside a delete that had not seen it, only what that delete had not seen."""
    inc = o.inc()
    regs = {d: v for d, (i, v) in o.cells[n].items() if i == inc}
    if live and any(k == "C" for _, k, i in o.life if i == inc):
        deletes = [d for d, k, i in o.life if k == "D" and i == inc]
        unseen = {d: v for d, v in regs.items() if not any(base.seen_by(d, x) for x in deletes)}
        regs = unseen or regs
    return regs


def deleted(base, o, dot, inc):
    """Was this version ended by a delete that had seen it? (One transaction may delete an
    incarnation and write the next: same dot, so the incarnation must be asked too.)"""
    return any(k == "D" and i >= inc and base.seen_by(dot, d) for d, k, i in o.life)


def newest(base, versions):
    """versions: [(dot, ...)]; causality first, then the hybrid clock, then the replica."""
    top = [v for v in versions if not any(base.seen_by(v[0], w[0]) for w in versions)]
    return max(top, key=lambda v: (base.order_key(v[0]), v[1:2]))


def find_in(up, x):
    while up.get(x, x) != x:
        x = up[x]
    return x


def union_into(up, a, b):
    a, b = find_in(up, a), find_in(up, b)
    if a != b:
        up[max(a, b)] = min(a, b)
        return True
    return False


def check_fails(ent, vals):
    return any(not fn(*[vals.get(c) for c in cols]) for cols, _, fn in ent.checks)


def groups_of(base):
    up = {}
    for a, b in base.aliases:
        union_into(up, a, b)
    by = defaultdict(list)
    for uid in base.objs:
        by[find_in(up, uid)].append(uid)
    groups = {}
    for gid, members in by.items():
        g = _Group()
        g.members = sorted(members)
        if gid not in base.objs:  # an alias may arrive before the object it names
            up.pop(g.members[0], None)
            up[gid] = gid = g.members[0]
        g.gid = gid
        g.ent = base.schema[base.objs[members[0]].ent]
        g.live = [m for m in g.members if alive(base, base.objs[m], g.ent)]
        g.alive, g.cells, g.complete = bool(g.live), [], True
        for n in range(len(g.ent.cells)):
            vs = [
                (d, m, v)
                for m in (g.live or g.members)
                for d, v in candidates(base, base.objs[m], n, g.alive).items()
            ]
            if not vs:  # part of the object has not arrived yet
                g.complete = False
                break
            d, m, v = newest(base, vs)
            g.cells.append((d, (m, n, d), v))
        if any(not base.objs[m].life for m in g.members) and not g.live:
            g.complete = False
        groups[gid] = g
    return groups, up


HARD, WEAK, NULL, DEFAULT = "hard", "weak", "null", "default"


def edge_kind(g, fk, vals):
    """What the end of the target means for this row, decided from the base alone."""
    ent, act = g.ent, fk.on_delete
    nulled = dict(vals, **{c: None for c in fk.cols})
    nullable = not (set(fk.cols) & ent.notnull) and not check_fails(ent, nulled)
    if act == "CASCADE":
        return WEAK if ent.delete_wins else HARD
    if act == "SET NULL":
        return NULL if nullable else HARD  # SQLite would refuse the delete
    if act == "SET DEFAULT":
        if all(ent.defaults.get(c) is None for c in fk.cols):
            return NULL if nullable else HARD
        return DEFAULT
    return HARD


def view(base):
    schema, V = base.schema, View()
    groups, up = groups_of(base)
    known = {i: g for i, g in groups.items() if g.complete}
    for g in known.values():
        vals = {c: v for cell, (_, _, val) in zip(g.ent.cells, g.cells) for c, v in zip(cell, val)}
        g.edges = []
        for fk in g.ent.fks:
            if all(is_ref(vals[c]) for c in fk.cols):
                kind, alt = edge_kind(g, fk, vals), None
                target = find_in(up, vals[fk.cols[0]][1])
                if kind == DEFAULT:
                    alt = default_target(known, schema, g.ent, fk)
                    if alt is None or alt == target:
                        kind = HARD
                g.edges.append((fk, kind, target, alt))
    forced = set()  # groups that a constraint hides; only grows, so this ends
    while True:
        shown, revived, bad = survivors(known, forced)
        if not bad:
            over, bad = overrides(known, shown)
        if not bad:
            rows, bad = unify(base, known, up, shown, over)
        if not bad:
            break
        forced |= bad
    for r in rows:
        V.rows[r.rep] = r
        for m in r.members:
            V.where[m] = r.rep
    for u in {u for pair in base.aliases for u in pair if u not in base.objs}:
        if find_in(up, u) in V.where:  # not here, but one object with one that is
            V.where[u] = V.where[find_in(up, u)]
    V.revived = {m for i in revived for m in known[i].members}
    held = {i for i in absent(known, forced) - absent(known, set()) if known[i].alive}
    V.held = {m for i in held for m in known[i].members}
    record(base, groups, V)
    return V


def default_target(known, schema, ent, fk):
    want = tuple(ent.defaults.get(c) for c in fk.cols)
    t = schema[fk.target]
    hits = []
    for i, g in known.items():
        if g.ent is t and g.alive:
            vals = {c: v for cell, (_, _, val) in zip(t.cells, g.cells) for c, v in zip(cell, val)}
            if tuple(vals.get(c) for c in t.pk) == want:
                hits.append(i)
    return min(hits, default=None)


def absent(known, forced):
    """Nothing can stand on what is not there."""
    out = set(forced)
    grew = True
    while grew:
        grew = False
        for i, g in known.items():
            if i not in out and any(
                k in (HARD, WEAK) and (t not in known or t in out) for _, k, t, _ in g.edges
            ):
                out.add(i)
                grew = True
    return out


def survivors(known, forced):
    """Which groups are shown: the greatest set of living groups that cascades spare, where
    `stiff` is the least set that hard references hold in place (dead targets come back).
    Both operators are monotone, so the answer does not depend on the order of the work."""
    out = absent(known, forced)
    living = {i for i, g in known.items() if g.alive and i not in out}
    while True:
        stiff, work = set(), [(i, False) for i in living]
        while work:
            i, held = work.pop()
            for _, kind, t, _ in known[i].edges:
                if (kind == HARD or (kind == WEAK and held)) and t not in stiff:
                    stiff.add(t)
                    work.append((t, True))
        shown = living | stiff
        victims = {
            i
            for i in living - stiff
            if any(k == WEAK and t not in shown for _, k, t, _ in known[i].edges)
        }
        if not victims:
            return shown, {i for i in shown if not known[i].alive}, set()
        living -= victims


def overrides(known, shown):
    """References that are shown as NULL or as the default because their target is not shown."""
    over, bad = {}, set()
    for i in shown:
        for fk, kind, t, alt in known[i].edges:
            if kind in (NULL, DEFAULT) and t not in shown:
                if kind == DEFAULT and alt in shown:
                    over.update({(i, c): ("r", alt, k) for k, c in enumerate(fk.cols)})
                elif not (set(fk.cols) & known[i].ent.notnull):
                    over.update({(i, c): None for c in fk.cols})
                else:
                    bad.add(i)
    return over, bad


def unify(base, known, up, shown, over):
    """Make rows of the shown groups; those that claim one UNIQUE value become one row. Rounds are
    synchronous (all clashes of a round at once), each round lowers the number of rows."""
    up2, changed, namings = {}, {}, 0
    while True:
        parts = defaultdict(list)
        for i in sorted(shown):
            parts[find_in(up2, i)].append(known[i])
        rows = {}
        for rep, gs in parts.items():
            ent, vals, src = gs[0].ent, {}, {}
            for n, cell in enumerate(ent.cells):
                d, gid, (sd, s, v) = newest(base, [(g.cells[n][0], g.gid, g.cells[n]) for g in gs])
                src[n] = s
                for c, x in zip(cell, v):
                    if (gid, c) in over:
                        x, src[n] = over[gid, c], None
                    if (gid, c) in changed:
                        x, src[n] = changed[gid, c], None
                    if is_ref(x):
                        x = ("r", find_in(up2, find_in(up, x[1])), x[2])
                    vals[c] = x
            rows[rep] = Row(ent, rep, [m for g in gs for m in g.members], vals, src)
        claims = defaultdict(list)
        for rep, r in rows.items():
            for u in r.ent.claims:
                key = claimed(rows, r, u)
                if key is not None:
                    claims[r.ent.name, u, key].append(rep)
        clashes = [(k, reps) for k, reps in sorted(claims.items(), key=repr) if len(reps) > 1]
        one = [(k, reps) for k, reps in clashes if united(base, parts, rows, k[1], reps)]
        if one or clashes and namings > len(shown):
            changed = {}  # names given before two rows became one are void
            for _, reps in one or clashes:
                for r in reps[1:]:
                    union_into(up2, reps[0], r)
            continue
        names, lost = 0, []
        # The oldest claim keeps the value, of those that no writer of another one had seen.
        for (_, u, _), reps in clashes:
            cell = rows[reps[0]].ent.cell_of[u.cols[0]]
            claim = {r: holder(base, parts[r], cell) for r in reps}
            age = {r: (base.order_key(d), gid) for r, (d, gid, _) in claim.items()}
            dots = {r: claim[r][0] for r in reps}
            current = [
                r
                for r in reps
                if not any(
                    dots[x] != dots[r] and base.seen_by(dots[r], dots[x]) for x in reps
                )
            ]
            winner = min(current, key=lambda r: age[r])
            for r in [r for r in reps if r != winner]:
                gid, way = claim[r][1], way_out(rows, rows[r], u)
                if way:
                    changed[gid, way[0]] = renamed(rows[r].vals[way[0]], way, gid)
                    names += 1
                else:
                    lost.append((winner, r))
        if clashes and not names:  # nothing else is left to do: the later rows are not shown
            losers = {r for _, r in lost}
            final = {r for w, r in lost if w not in losers} or losers
            return [], {g.gid for r in final for g in parts[r]}
        if clashes:
            namings += 1
            continue
        bad = set()
        for rep, r in rows.items():
            if check_fails(r.ent, {c: shown_value(rows, v) for c, v in r.vals.items()}):
                bad |= {g.gid for g in parts[rep]}
        return list(rows.values()), bad


def holder(base, groups, n):
    """The group whose version of cell n a row of several shows: the newest."""
    return newest(base, [(g.cells[n][0], g.gid, g.cells[n][1]) for g in groups])


def united(base, parts, rows, u, reps):
    """Do rows that claim one value become one row? Under `merge` when one of the claims was made by
    an insert: two people entered the same thing. A clash made by updates of old rows is no such
    thing; there the later claim steps back, as under keepBoth and laterLoses where it can. Nor are
    two rows of which a writer wrote the one beside the other: its tables had no such constraint."""
    ent = rows[reps[0]].ent
    ways = [way_out(rows, rows[r], u) for r in reps]
    if all(way and way[1] == "reset" for way in ways):
        return False  # a flag says how a row is, not what it is
    if ent.unique_policy != "merge" and None not in ways:
        return False
    claims = [holder(base, parts[r], ent.cell_of[u.cols[0]]) for r in reps]
    if not any((dot, "C") in life_of(base, [m]) for dot, _, (m, _, _) in claims):
        return False
    known = {g.gid: g for r in reps for g in parts[r]}
    return not any(
        wrote_both(base, known[later[1]], later[0], known[earlier[1]], earlier[0], u)
        for later in claims
        for earlier in claims
        if later[1] != earlier[1]
    )


def life_of(base, members):
    return {(d, k) for m in members if m in base.objs for d, k, _ in base.objs[m].life}


def wrote_both(base, g, later, other, earlier, u):
    """Did the writer of a claim know of a row that claims the same as written, and leave it?"""
    if earlier != later and not base.seen_by(earlier, later):
        return False
    # Of one that was deleted, and came back by another writer's edit, the later row may have been
    # made in its place.
    if any(k != "C" for _, k in life_of(base, other.members)):
        return False
    return as_written(g, u) == as_written(other, u)


def as_written(g, u):
    vals = {c: x for n, cell in enumerate(g.ent.cells) for c, x in zip(cell, g.cells[n][2])}
    return u.values({c: vals.get(c) for c in u.cols})


def claimed(rows, row, u, changes={}):
    """What a row claims; `changes`: columns that are shown with another value."""
    vals = {c: changes[c] if c in changes else shown_value(rows, row.vals[c]) for c in u.cols}
    return u.values(vals)


def renamed(value, way, gid):
    _, how, initial = way
    if how == "reset":
        return initial
    return None if how == "null" else "%s~%s" % (value, gid[:8])


def way_out(rows, row, u):
    """How a row can be shown so that it does not claim what it claims now."""
    ways = row.ent.ways_out[u]
    if u.plain:
        return ways[0] if ways else None
    now = claimed(rows, row, u)
    for way in ways:
        c = way[0]
        if not is_ref(row.vals[c]):
            if claimed(rows, row, u, {c: renamed(row.vals[c], way, row.rep)}) != now:
                return way
    return None


def shown_value(rows, v):
    """A reference shows the key of its target; a private number stands for the row itself."""
    while is_ref(v):
        r = rows[v[1]]
        if r.ent.private:
            return ("#", v[1])
        v = r.vals[r.ent.pk[v[2]]]
    return v


def says(V, m, n, value):
    """Whether the row of an object has the value of one of its versions."""
    if m not in V.where:
        return False
    row = V.rows[V.where[m]]
    return all(same(V, v) == row.vals[c] for c, v in zip(row.ent.cells[n], value))


def attributed(o, ent, n, dot, i, value):
    """Whether a version of a deleted row may be the default of a column that was added later: which
    of its transactions that is attributed to depends on the moment of the migration."""
    if any(k == "C" and inc == i for _, k, inc in o.life):
        return False
    if any(v != ent.defaults.get(c) for c, v in zip(ent.cells[n], value)):
        return False
    return any(m != n and dot in reg and reg[dot][0] == i for m, reg in enumerate(o.cells))


def former(base, o, ent, dot, i):
    """Whether a version may be the default of an added column that is attributed to an insert of
    which nothing else is left: a replica without the column had seen it and kept the row."""
    if (dot, "C", i) in o.life:
        return False
    if not any(k != "D" and inc >= i and base.seen_by(dot, d) for d, k, inc in o.life):
        return False
    return all(
        v == ent.defaults.get(c)
        for m, reg in enumerate(o.cells)
        if dot in reg and reg[dot][0] == i
        for c, v in zip(ent.cells[m], reg[dot][1])
    )


def of_added_column(base, V, m, n, dot, i, v):
    """Whether a version says no more than the default of a column that was added later."""
    o = base.objs[m]
    ent = base.schema[o.ent]
    if (m not in V.where or i < o.inc()) and attributed(o, ent, n, dot, i, v):
        return True
    return former(base, o, ent, dot, i)


def record(base, groups, V):
    """Every maximal fact that is not shown, and that no delete had seen, goes to the conflict log;
    not one that says what is shown anyway, and not the default of an added column."""
    shown = {s for r in V.rows.values() for s in r.src.values() if s}
    for g in groups.values():
        for m in g.members:
            o = base.objs[m]
            inc = o.inc()
            for n, reg in enumerate(o.cells):
                for dot, (i, v) in reg.items():
                    if (m, n, dot) in shown or deleted(base, o, dot, i) or says(V, m, n, v):
                        continue
                    if of_added_column(base, V, m, n, dot, i, v):
                        continue
                    why = (
                        "older incarnation" if i < inc else "hidden" if m not in V.where else "lost"
                    )
                    V.log[m, n, dot] = (why, v)
            if m in V.revived:
                for dot, k, i in o.life:
                    if k == "D":
                        V.log[m, "life", dot] = ("delete lost", None)


# ---------------------------------------------------------------- digest


def key_uid(ent, key, gen):
    """Natural keys identify by value; foreign-key parts by the uid of their target. The encoding is
    the product's (NaturalIdentity.swift), so that both sides give the same identities."""

    def number(n):
        return (n % 2**64).to_bytes(8, "big")

    def text(s):
        return number(len(s.encode())) + s.encode()

    h = hashlib.sha256(text(ent.name.lower()) + number(gen) + number(len(key)))
    for v in key:
        if is_ref(v):
            h.update(b"\5" + bytes.fromhex(v[1]) + number(v[2]))
        elif v is None:
            h.update(b"\0")
        elif type(v) is int:
            h.update(b"\1" + number(v))
        else:
            h.update(b"\3" + text(v))
    return h.hexdigest()[:32]


class Edit:
    """What one commit did, as the capture log tells it: rows after, keys written anew (deleted and
    inserted inside the transaction), keys changed by UPDATE."""

    def __init__(self, after, again=(), rekeyed=()):
        self.after = after  # {(entity, key): {col: value}}
        self.again = set(again)  # {(entity, key)}
        self.rekeyed = dict(rekeyed)  # {(entity, new key): (entity, old key)}


def digest(base, V, keymap, edit, dot, hlc, new_uid):
    """Translate one local commit. keymap: {(entity, key): rep uid} of V as shown here.
    Returns (view after, {(entity, key): uid} after). The base takes the facts."""
    schema = base.schema
    t = Txn(dot, hlc, dict(base.vector))
    base.add_txn(t)

    def state(f):
        t.facts.append(f)
        base.add_fact(f)

    before, where = keymap, {}
    fresh, deferred = [], []
    for k, row in edit.after.items():
        ent = schema[k[0]]
        old = edit.rekeyed.get(k)
        if k in before:
            where[k] = before[k]
        elif old in before and ent.private:
            where[k] = before[old]  # only the private number changed
        elif ent.private:
            where[k] = new_uid()
            fresh.append(k)
        else:
            deferred.append(k)
    progress = True
    while deferred and progress:  # keys made of references, targets first
        progress = False
        for k in list(deferred):
            ent = schema[k[0]]
            vals = entries(schema, ent, edit.after[k], where, set(ent.pk))
            if vals is None:
                continue
            deferred.remove(k)
            progress = True
            key = tuple(vals[c] for c in ent.pk)
            gen = 0
            tied = {u for pair in base.aliases for u in pair}
            while True:  # a uid that became part of another object
                uid = key_uid(ent, key, gen)  # never names a new one
                if uid not in tied and uid not in V.where and uid not in where.values():
                    break
                gen += 1
            where[k] = uid
            fresh.append(k)
    assert not deferred
    used = set(where.values())
    for k, rep in before.items():  # deletes: of all that the row stood for
        if rep not in used:
            for m in V.rows[rep].members:
                if base.objs[m].life:
                    state(("life", m, k[0], dot, "D", base.objs[m].inc()))
    for k in fresh:  # inserts: a new incarnation, all cells
        ent, uid = schema[k[0]], where[k]
        vals = entries(schema, ent, edit.after[k], where)
        inc = base.objs[uid].inc() + 1 if uid in base.objs else 1
        state(("life", uid, ent.name, dot, "C", inc))
        for n, cell in enumerate(ent.cells):
            state(("cell", uid, ent.name, dot, n, inc, tuple(vals[c] for c in cell)))
        old = edit.rekeyed.get(k)
        if old in before and old not in edit.after:  # references to the old key follow
            state(("alias", dot, before[old], uid))
    for k in edit.after:  # updates, and rows written anew
        if k in fresh:
            continue
        ent, uid = schema[k[0]], where[k]
        vals = entries(schema, ent, edit.after[k], where)
        if k in edit.again:
            for m in V.rows[uid].members:
                state(("life", m, ent.name, dot, "D", base.objs[m].inc()))
            inc = base.objs[uid].inc() + 1
            state(("life", uid, ent.name, dot, "C", inc))
            for n, cell in enumerate(ent.cells):
                state(("cell", uid, ent.name, dot, n, inc, tuple(vals[c] for c in cell)))
            continue
        old = V.rows[uid].vals
        touched = False
        for n, cell in enumerate(ent.cells):
            if any(vals[c] != old[c] for c in cell):
                write_cell(base, state, V.rows[uid], ent, dot, n, vals)
                touched = True
        if touched:
            revive(base, V, state, dot, [uid])
    refs = [
        v[1]
        for k in fresh
        for v in entries(schema, schema[k[0]], edit.after[k], where).values()
        if is_ref(v)
    ]
    revive(base, V, state, dot, refs)
    V2, settled = settle(base, V, edit, where, state, dot)
    return V2, where, t, settled


def entries(schema, ent, row, where, only=None):
    """A row with its references by uid; None while a target has no uid yet."""
    vals = {c: row[c] for c in ent.cols if not (ent.private and c in ent.pk)}
    for fk in ent.fks:
        if only is not None and not set(fk.cols) <= only:
            continue
        key = tuple(row[c] for c in fk.cols)
        if None not in key:
            uid = where.get((fk.target, key))
            if uid is None:
                return None
            for i, c in enumerate(fk.cols):
                vals[c] = ("r", uid, i)
    return vals


def write_cell(base, state, row, ent, dot, n, vals):
    """On the member whose register the row shows, so that the write overwrites what was seen."""
    m = row.src[n][0] if row.src[n] else None
    if m is None or not alive(base, base.objs[m], ent):
        live = [x for x in row.members if alive(base, base.objs[x], ent)]
        m = live[0] if live else m or row.rep
    state(("cell", m, ent.name, dot, n, base.objs[m].inc(), tuple(vals[c] for c in ent.cells[n])))


def revive(base, V, state, dot, uids):
    """Touching an object that is shown although deleted makes it live, and what it stands on."""
    work, done = list(uids), set()
    while work:
        u = work.pop()
        if u in done or u not in V.where:
            continue
        done.add(u)
        row = V.rows[V.where[u]]
        if any(m in V.revived for m in row.members):
            for m in row.members:
                o = base.objs[m]
                if o.life and not alive(base, o, row.ent):
                    state(("life", m, o.ent, dot, "R", o.inc()))
            work += [v[1] for v in row.vals.values() if is_ref(v)]


def settle(base, V, edit, where, state, dot):
    """What you commit is what you get: add the facts that make the view equal the tables as
    committed. Almost always none; needed only where the view repaired something nearby. A row that
    a constraint kept out, and that the commit makes room for, is nobody's delete: it is shown."""
    schema = base.schema
    want = {}
    for k, uid in where.items():
        want[uid] = (k, entries(schema, schema[k[0]], edit.after[k], where))
    for attempt in range(12):
        V2, dirty = view(base), False
        if attempt == 3:  # a hidden part still acts: make all shown merges lasting
            for rep in sorted(set(where.values()) & set(V.rows)):
                for m in V.rows[rep].members:
                    if m != rep:
                        state(("alias", dot, rep, m))
            V2 = view(base)
        if any(u not in want and u in V2.where for u in V.held):
            return V2, False
        holder = defaultdict(list)
        for uid in sorted(want):
            holder[V2.where.get(uid)].append(uid)
        for rep, row in sorted(V2.rows.items()):
            for m in row.members:
                host = m if m in want else V.where.get(m)
                if host in want:
                    if host not in holder.get(rep, ()):  # leaves the row it hid behind: keep
                        dirty = True
                        state(("alias", dot, host, m))
                elif rep not in holder or alive(base, base.objs[m], row.ent):
                    dirty = True  # comes out of hiding: end it
                    if base.objs[m].life:
                        state(("life", m, row.ent.name, dot, "D", base.objs[m].inc()))
        for uid in sorted(want):
            rep = V2.where.get(uid)
            uids = holder[rep]
            k, vals = want[uid]
            ent, o = schema[k[0]], base.objs[uid]
            lost = rep is None or len(uids) > 1
            if lost:
                dirty = True
                for m in (V.rows[uid].members if uid in V.rows else [uid]):
                    if m != uid and len(uids) > 1:
                        state(("alias", dot, uid, m))
                    if base.objs[m].life and not alive(base, base.objs[m], ent):
                        state(("life", m, ent.name, dot, "R", base.objs[m].inc()))
            for n, cell in enumerate(ent.cells):
                if lost and attempt == 0:
                    continue
                if lost or any(same(V2, vals[c]) != V2.rows[rep].vals[c] for c in cell):
                    dirty = True
                    row = V.rows.get(uid) or V2.rows.get(rep)
                    row = row or Row(ent, uid, [uid], vals, [None] * len(ent.cells))
                    write_cell(base, state, row, ent, dot, n, vals)
        if not dirty:
            return V2, True
    raise AssertionError("settle does not end")


def same(V, v):
    return ("r", V.where.get(v[1]), v[2]) if is_ref(v) else v


# ---------------------------------------------------------------- housekeeping


def close_all(base, V, dot, hlc):
    """Turn every open repair into facts (an ordinary transaction; the view does not change)."""
    t = Txn(dot, hlc, dict(base.vector))
    base.add_txn(t)

    def state(f):
        t.facts.append(f)
        base.add_fact(f)

    for row in V.rows.values():
        for m in row.members:
            if m != row.rep:
                state(("alias", dot, row.rep, m))
        revive(base, V, state, dot, [row.rep])
    for uid, o in base.objs.items():
        if uid not in V.where and o.life and alive(base, o, base.schema[o.ent]):
            state(("life", uid, o.ent, dot, "D", o.inc()))
    for attempt in range(4):
        V2 = view(base)
        dirty = False
        for _, row in sorted(V2.rows.items()):
            old = V.rows[V.where[row.rep]]
            for n, cell in enumerate(row.ent.cells):
                if row.src[n] is None or any(same(V2, old.vals[c]) != row.vals[c] for c in cell):
                    dirty = True
                    write_cell(base, state, row, row.ent, dot, n, old.vals)
        if not dirty:
            return V2, t
    raise AssertionError("close_all does not end")


def stable_cut(own, acks):
    """acks: {replica: vector it is known to have merged, all of whose own transactions we have}."""
    return {r: min([own[r]] + [a.get(r, 0) for a in acks.values()]) for r in own}


def collect(base, marks, stable):
    """Drop dead objects. Two phases: the object must have been dead and unreferenced at a vector
    (kept in `marks`) that every replica has merged since; else a replica that still shows it,
    because it lacks the end of the last reference, could make it live again."""
    needed, work = set(), []
    tied = {u for pair in base.aliases for u in pair}
    for uid, o in base.objs.items():
        if uid in tied or not o.life or alive(base, o, base.schema[o.ent]):
            work.append(uid)
    while work:
        uid = work.pop()
        if uid in needed or uid not in base.objs:
            continue
        needed.add(uid)
        for reg in base.objs[uid].cells:
            for _, value in reg.values():
                work += [v[1] for v in value if is_ref(v)]
    for uid in list(marks):
        if uid in needed:
            del marks[uid]
    dropped = 0
    for uid in [u for u in base.objs if u not in needed]:
        at = marks.setdefault(uid, dict(base.vector))
        if all(stable.get(r, 0) >= n for r, n in at.items()):
            del base.objs[uid], marks[uid]
            dropped += 1
    return dropped
