"""Simulator of the specification on real SQLite: random schemas, writers and exchanges of one seed.

python3 sim.py FIRST LAST      runs the seeds FIRST ... LAST - 1 and prints what failed
"""

import random, sqlite3, sys, time, traceback
from collections import defaultdict


class Fail(Exception):
    pass


ACTIONS = ["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"]


class Draft:
    """a table that is being drawn"""

    def __init__(s):
        s.cols = []
        s.pk = []
        s.fks = []
        s.uniq = []
        s.checks = []
        s.notnull = set()
        s.types = {}
        s.defaults = {}
        s.fallback = []  # the key that references to it may fall back to

    def add(s, c, t, nn=False):
        s.cols.append(c)
        s.types[c] = t
        if nn:
            s.notnull.add(c)

    def reference(s, prefix, target, nn):
        out = []
        for x, kc in enumerate(target.pk):
            c = prefix + str(x)
            s.add(c, target.types[kc], nn)
            out.append(c)
        return out

    def fall_back(s, cs, target, rng):
        """SET DEFAULT sets nothing, the key of a row that may be there, or that with a NULL"""
        if rng.random() >= 0.75:
            return
        s.defaults.update(zip(cs, target.fallback))
        if len(cs) > 1 and rng.random() < 0.15:
            del s.defaults[rng.choice(cs)]


def make_key(drafts, specs, i, rng):
    draft = drafts[i]
    k = specs[i]
    if k == "join":
        js = [rng.randrange(i) for _ in range(rng.choice([1, 2, 2]))]
        parts = []
        for x, j in enumerate(js):
            cs = draft.reference("j%d_" % x, drafts[j], True)
            parts.append(cs[0])
            draft.pk += cs
            draft.fallback += drafts[j].fallback
            actions = ["CASCADE", "CASCADE", "RESTRICT", "NO ACTION", "SET NULL", "SET DEFAULT"]
            act = rng.choice(actions)
            if act == "SET DEFAULT":
                draft.fall_back(cs, drafts[j], rng)
            draft.fks.append((cs, j, act))
        if rng.random() < 0.3:
            draft.add("k2", "INTEGER", True)
            draft.pk.append("k2")
            draft.fallback.append(0)
        if len(js) == 2 and js[0] == js[1] and rng.random() < 0.3:
            draft.checks.append((tuple(parts), "%s<>%s" % tuple(parts), lambda a, b: a != b))
        return
    keys = {"int": ["id"], "text": ["k"], "comp": ["k1", "k2"]}[k]
    for c in keys:
        draft.add(c, "INTEGER" if c in ("id", "k2") else "TEXT", True)
        draft.pk.append(c)
        draft.fallback.append({"id": 1, "k2": 0}.get(c, "k0"))


def draw_index(draft, rng):
    """An index that is no constraint of columns: over an expression, over a part of the rows, both.
    Returns (terms, columns in lower case, flag)."""
    kinds = ["flag"] + (["lower", "both", "part"] if "u" in draft.cols else [])
    kind = rng.choice(kinds)
    if kind == "lower":
        return ("u",), ("u",), None
    draft.add("g", "INTEGER", True)
    draft.defaults["g"] = rng.choice([0, 0, 1])
    if kind == "flag":  # one row of all that refer to the same, or that have the same number
        terms = draft.fks[-1][0] if draft.fks and rng.random() < 0.7 else None
        if terms is None or set(terms) & set(draft.pk):
            draft.add("h", "INTEGER")
            terms = ["h"]
        return tuple(terms), (), ("g", 1)
    return ("u",), ("u",) if kind == "both" else (), ("g", 1)


def index_sql(entity, number, terms, lower, flag):
    return "CREATE UNIQUE INDEX %s_i%d ON %s(%s)%s" % (
        entity,
        number,
        entity,
        ",".join("lower(%s)" % c if c in lower else c for c in terms),
        " WHERE %s=%r" % flag if flag else "",
    )


def make_schema(M, rng):
    """random schema; returns ({name: Entity}, ddl)"""
    n = rng.randint(2, 4)
    style = rng.choice(
        [None, None, None, "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION"]
    )
    ents = {}
    ddl = []
    specs = []
    for i in range(n):
        kinds = ["int", "text", "comp"] + (["join", "join"] if i >= 1 else [])
        specs.append(rng.choice(kinds) if i else rng.choice(["int", "text", "comp", "int"]))
    names = ["E%d" % i for i in range(n)]
    drafts = [Draft() for _ in specs]
    # Keys first: references are made of them, also those of earlier tables to later ones.
    for i, k in enumerate(specs):
        make_key(drafts, specs, i, rng)
    for i, k in enumerate(specs):
        draft = drafts[i]
        add, cols, pk, fks, uniq = draft.add, draft.cols, draft.pk, draft.fks, draft.uniq
        checks, notnull, types, defaults = (
            draft.checks,
            draft.notnull,
            draft.types,
            draft.defaults,
        )
        add("d", "TEXT")
        if rng.random() < 0.4:
            add("e", "TEXT")
        if rng.random() < 0.6:
            add("u", "TEXT", rng.random() < 0.5)
            uniq.append(("u",))
        if rng.random() < 0.35:
            add("a", "INTEGER", True)
            add("b", "INTEGER", True)
            checks.append((("a", "b"), "a<=b", lambda a, b: a <= b))
        for x in range(rng.choice([0, 1, 1, 1, 2]) if i or rng.random() < 0.5 else 0):
            j = rng.randrange(n) if rng.random() < 0.35 else rng.randrange(max(i, 1))
            nn = rng.random() < 0.4 and j < i
            cs = draft.reference("f%d_" % x, drafts[j], nn)
            act = style if style and rng.random() < 0.6 else rng.choice(ACTIONS)
            if act == "SET DEFAULT":
                draft.fall_back(cs, drafts[j], rng)
            fks.append((cs, j, act))
            r = rng.random()
            if r < 0.25:
                add("p%d" % x, "INTEGER")
                uniq.append(tuple(cs) + ("p%d" % x,))
            elif r < 0.33:
                uniq.append(tuple(cs))
            elif r < 0.45 and not nn:
                add("c%d" % x, "INTEGER", True)
                checks.append(
                    (
                        (cs[0], "c%d" % x),
                        "%s IS NOT NULL OR c%d=0" % (cs[0], x),
                        lambda f, c: f is not None or c == 0,
                    )
                )
        index = draw_index(draft, rng) if rng.random() < 0.35 else None
        ents[names[i]] = M.Entity(
            names[i],
            cols,
            pk,
            k == "int",
            notnull,
            uniq + ([M.Claim(*index)] if index else []),
            [M.FK(cs, names[j], a) for cs, j, a in fks],
            checks,
            defaults,
            rng.random() < 0.7,
            rng.choice(["merge", "merge", "merge", "keepBoth", "laterLoses"]),
        )
        parts = []
        for c in cols:
            t = "%s %s" % (c, types[c])
            if k == "int" and c == "id":
                t += " PRIMARY KEY"
            if c in notnull and not (k == "int" and c == "id"):
                t += " NOT NULL"
            if c in defaults:
                t += " DEFAULT %r" % defaults[c]
            parts.append(t)
        if k != "int":
            parts.append("PRIMARY KEY(%s)" % ",".join(pk))
        for u in uniq:
            parts.append("UNIQUE(%s)" % ",".join(u))
        for _, sql, _ in checks:
            parts.append("CHECK(%s)" % sql)
        for cs, j, a in fks:
            parts.append(
                "FOREIGN KEY(%s) REFERENCES %s(%s) ON DELETE %s ON UPDATE CASCADE%s"
                % (
                    ",".join(cs),
                    names[j],
                    ",".join(drafts[j].pk),
                    a,
                    " DEFERRABLE INITIALLY DEFERRED" if rng.random() < 0.2 else "",
                )
            )
        ddl.append("CREATE TABLE %s(%s)" % (names[i], ", ".join(parts)))
        if index:
            ddl.append(index_sql(names[i], 0, *index))
    return ents, ddl, specs


class Replica:
    def __init__(s, M, name, schema, ddl, rng):
        s.M = M
        s.name = name
        s.schema = schema
        s.rng = rng
        s.base = M.Base(schema)
        s.hlc = 0
        s.n = 0
        s.db = sqlite3.connect(":memory:", isolation_level=None)
        s.db.execute("PRAGMA foreign_keys=OFF")
        for d in ddl:
            s.db.execute(d)
        s.db.execute("PRAGMA foreign_keys=ON")
        s.V = M.view(s.base)
        s.num = {}
        s.log = {}
        s.uidn = 0
        s.keymap = {}
        s.tables = {}
        s.marks = {}
        s.acks = {}
        s.wall = 0

    # private numbers of this replica
    def numbers(s, V):
        for e in s.schema.values():
            if not e.private:
                continue
            rows = [r for r in V.rows.values() if r.ent is e]
            used = set()
            pend = []
            shown_before = {rep: k[1][0] for k, rep in s.keymap.items() if k[0] == e.name}
            for r in rows:
                c = [shown_before[m] for m in r.members if m in shown_before] or [
                    s.num[m] for m in r.members if m in s.num
                ]
                c = [x for x in c if x not in used]
                if c:
                    s.num[r.rep] = min(c)
                    used.add(min(c))
                else:
                    pend.append(r)
            taken = set(s.num.values()) | used
            for r in pend:
                x = max([v for v in taken], default=0) + 1
                s.num[r.rep] = x
                taken.add(x)
                used.add(x)

    def keyof(s, V, rep):
        r = V.rows[rep]
        if r.ent.private:
            return (s.num[rep],)
        return tuple(s.plain(V, r.vals[c]) for c in r.ent.pk)

    def plain(s, V, v):
        if s.M.is_ref(v):
            return s.keyof(V, v[1])[v[2]]
        return v

    def image(s, V):
        out = {}
        km = {}
        for rep, r in V.rows.items():
            key = s.keyof(V, rep)
            row = {
                c: (s.num[rep] if r.ent.private and c in r.ent.pk else s.plain(V, r.vals[c]))
                for c in r.ent.cols
            }
            if (r.ent.name, key) in out:
                raise Fail("two rows with one key")
            out[r.ent.name, key] = row
            km[r.ent.name, key] = rep
        return out, km

    def read(s):
        out = {}
        for e in s.schema.values():
            for t in s.db.execute("SELECT %s FROM %s" % (",".join(e.cols), e.name)):
                row = dict(zip(e.cols, t))
                out[e.name, tuple(row[c] for c in e.pk)] = row
        return out

    def show(s, V):
        s.numbers(V)
        image, km = s.image(V)
        if image != s.tables:
            s.db.execute("PRAGMA foreign_keys=OFF")
            s.db.execute("BEGIN")
            try:
                for e in s.schema.values():
                    gone = [k for k, r in s.tables.items() if k[0] == e.name and image.get(k) != r]
                    for k in gone:
                        s.db.execute(
                            "DELETE FROM %s WHERE %s"
                            % (e.name, " AND ".join("%s=?" % c for c in e.pk)),
                            k[1],
                        )
                for e in s.schema.values():
                    for k, r in image.items():
                        if k[0] == e.name and s.tables.get(k) != r:
                            s.db.execute(
                                "INSERT INTO %s(%s) VALUES(%s)"
                                % (e.name, ",".join(e.cols), ",".join("?" * len(e.cols))),
                                [r[c] for c in e.cols],
                            )
            except sqlite3.IntegrityError as x:
                raise Fail("constraint after merge: %s" % x)
            s.db.execute("COMMIT")
            if s.db.execute("PRAGMA foreign_key_check").fetchall():
                raise Fail("dangling reference after merge")
            s.db.execute("PRAGMA foreign_keys=ON")
            s.tables = s.read()
            if s.tables != image:
                raise Fail("image differs")
        s.V = V
        s.keymap = km
        s.honest(V)
        s.log.update(V.log)

    def honest(s, V):
        """what the view says it shows of a fact is the value of that fact"""
        for r in V.rows.values():
            for n, x in r.src.items():
                if x is None:
                    continue
                val = s.base.objs[x[0]].cells[n][x[2]][1]
                for c, v in zip(r.ent.cells[n], val):
                    if s.M.is_ref(v):
                        v = ("r", V.where.get(v[1]), v[2])
                    if v != r.vals[c]:
                        raise Fail("a row claims to show a fact that it does not show")

    def live_facts(s):
        out = set()
        b = s.base
        for uid, o in b.objs.items():
            for n, reg in enumerate(o.cells):
                for dot, (i, _) in reg.items():
                    if not s.M.deleted(b, o, dot, i):
                        out.add((uid, n, dot))
        return out

    def shown_facts(s):
        """The facts that rows show, those that say the same, and defaults of added columns."""
        out = {x for r in s.V.rows.values() for x in r.src.values() if x}
        for uid, o in s.base.objs.items():
            for n, reg in enumerate(o.cells):
                for dot, (i, v) in reg.items():
                    if s.M.says(s.V, uid, n, v):
                        out.add((uid, n, dot))
                    elif s.M.of_added_column(s.base, s.V, uid, n, dot, i, v):
                        out.add((uid, n, dot))
        return out

    def commit(s, edit, wall):
        M = s.M
        s.wall = wall
        if edit.after == s.tables and not edit.again:
            return None
        before = s.live_facts()
        shown = s.shown_facts()
        s.n += 1
        s.hlc = max(s.hlc + 1, wall)

        def uid():
            s.uidn += 1
            return "%08x%02x%022x" % (s.rng.getrandbits(32), ord(s.name), s.uidn)

        V2, where, t, settled = M.digest(s.base, s.V, s.keymap, edit, (s.name, s.n), s.hlc, uid)
        for k, u in where.items():
            if s.schema[k[0]].private:
                s.num[V2.where.get(u, u)] = k[1][0]
        # other reservations of a number now in use are dropped
        for e in s.schema.values():
            if e.private:
                inuse = {k[1][0]: V2.where.get(u, u) for k, u in where.items() if k[0] == e.name}
                for u in [
                    u
                    for u, x in s.num.items()
                    if x in inuse
                    and inuse[x] != u
                    and s.base.objs.get(u)
                    and s.base.objs[u].ent == e.name
                ]:
                    del s.num[u]
        for f in before - s.live_facts():
            if f not in shown and f not in s.log:
                raise Fail("a write dropped a value that was neither shown nor logged: %r" % (f,))
        s.tables = edit.after
        if not settled:
            s.keymap = dict(where)
            s.show(V2)
            return t
        s.keymap = {k: V2.where[u] for k, u in where.items()}
        s.numbers(V2)
        image, km = s.image(V2)
        if image != edit.after:
            raise Fail("the view after a commit differs from what was committed")
        s.V = V2
        s.keymap = km
        s.log.update(V2.log)
        return t

    def close(s, wall):
        s.n += 1
        s.hlc = max(s.hlc + 1, wall)
        before = s.live_facts()
        shown = s.shown_facts()
        V2, t = s.M.close_all(s.base, s.V, (s.name, s.n), s.hlc)
        for f in before - s.live_facts():
            if f not in shown and f not in s.log:
                raise Fail("closing dropped a value that was neither shown nor logged: %r" % (f,))
        tabs = s.tables
        s.keymap = {k: V2.where[u] for k, u in s.keymap.items()}
        for k, u in s.keymap.items():
            if s.schema[k[0]].private:
                s.num[u] = k[1][0]
        s.show(V2)
        if s.tables != tabs:
            raise Fail("closing changed the tables")
        return t

    def ack(s, name, vec):
        if s.base.vector.get(name, 0) >= vec.get(name, 0):
            s.acks[name] = dict(vec)

    def gc(s, names):
        if set(s.acks) | {s.name} >= set(names):
            own = {r: s.base.vector.get(r, 0) for r in names}
            n = s.M.collect(s.base, s.marks, s.M.stable_cut(own, {k: v for k, v in s.acks.items()}))
            if n:
                old = s.V
                V = s.M.view(s.base)
                if {k: r.vals for k, r in V.rows.items()} != {
                    k: r.vals for k, r in old.rows.items()
                }:
                    raise Fail("collection changed the view")
                s.V = V
            return n
        return 0

    def receive(s, batch):
        old = dict(s.base.vector)
        if not s.base.apply(batch):
            return False
        for t in batch["txns"]:
            if t.hlc <= s.wall + 500:
                s.hlc = max(s.hlc, t.hlc)  # a clock far ahead is contained
        if s.base.vector != old:
            s.show(s.M.view(s.base))
        return True

    def canonical(s):
        rev = {k: rep for k, rep in s.keymap.items()}
        out = set()
        for k, row in s.read().items():
            e = s.schema[k[0]]
            m = dict(row)
            if e.private:
                m["id"] = rev[k]
            for f in e.fks:
                key = tuple(row[c] for c in f.cols)
                if None not in key:
                    t = s.schema[f.target]
                    for c, kc in zip(f.cols, t.pk):
                        if t.private:
                            m[c] = rev[f.target, key]
                        # natural keys made of private references
                        elif any(x in t.pk for g in t.fks for x in g.cols):
                            m[c] = (rev[f.target, key], kc)
            out.add((k[0], tuple(sorted(m.items(), key=repr))))
        return out


class Sim:
    def __init__(s, M, seed, n=None, steps=None, verbose=False, skip=()):
        s.M = M
        s.seed = seed
        s.rng = random.Random(seed)
        rng = s.rng
        s.schema, s.ddl, s.specs = make_schema(M, rng)
        s.n = n or rng.choice([2, 2, 2, 3, 3, 4, 5])
        s.steps = steps or rng.choice([6, 8, 10, 12] + ([16, 24] if s.n > 2 else []))
        s.reps = [
            Replica(M, "ABCDE"[i], s.schema, s.ddl, random.Random(seed * 31 + i))
            for i in range(s.n)
        ]
        s.skew = [rng.choice([0, 0, 0, -50, 50, 1000]) for _ in range(s.n)]
        s.tokens = 0
        s.written = {}
        s.overwritten = set()
        s.all = []
        s.pool = []
        s.verbose = verbose
        s.skip = set(skip)
        s.stat = defaultdict(int)
        s.focus = None
        if rng.random() < 0.6:
            busy = [e.name for e in s.schema.values() if e.fks] or sorted(s.schema)
            s.focus = (
                rng.choice(busy + sorted(s.schema)),
                rng.choice(
                    ["upd", "updf", "updf", "updu", "updab", "del", "again", "ins", "swap", "rekey"]
                ),
            )
        s.dueling = rng.choice([0, 2, 3, 5])
        s.gcon = rng.random() < 0.4
        s.second = rng.random() < 0.35
        s.closing = rng.random() < 0.3
        s.start = rng.random() < 0.6

    def say(s, *a):
        if s.verbose:
            print(*a)

    def token(s):
        s.tokens += 1
        return "t%d" % s.tokens

    def value(s, rng, r, e, c, tables, null=True):
        for f in e.fks:
            if c in f.cols:
                return None  # handled together
        if c in ("d", "e"):
            return s.token()
        if c == "k" or c == "k1":
            return "k%d" % rng.randrange(3)
        if c == "k2":
            return rng.randrange(2)
        if c == "u":
            if null and c not in e.notnull and rng.random() < 0.2:
                return None
            text = "u%d" % rng.randrange(4)
            isfolded = any("u" in claim.lower for claim in e.uniques)
            return text.upper() if isfolded and rng.random() < 0.5 else text
        if c == "g" or c == "h":
            return rng.randrange(2)
        if c == "a":
            return rng.randrange(4)
        if c == "b":
            return rng.randrange(4)
        if c[0] == "p":
            return rng.randrange(2)
        if c[0] == "c":
            return rng.choice([0, 0, 1])
        raise KeyError(c)

    def fkvalue(s, rng, e, f, tables):
        t = s.schema[f.target]
        keys = [k[1] for k in tables if k[0] == f.target]
        if not keys or (not (set(f.cols) & e.notnull) and rng.random() < 0.25):
            return (None,) * len(f.cols)
        return rng.choice(sorted(keys, key=repr))

    def newrow(s, rng, r, e, tables, key=None):
        row = {}
        for c in e.cols:
            if e.private and c in e.pk:
                row[c] = None
            else:
                row[c] = s.value(rng, r, e, c, tables)
        for f in e.fks:
            v = s.fkvalue(rng, e, f, tables)
            for c, x in zip(f.cols, v):
                row[c] = x
        if key is not None:
            for c, x in zip(e.pk, key):
                row[c] = x
        elif e.private:
            ids = [k[1][0] for k in tables if k[0] == e.name]
            row[e.pk[0]] = max(ids, default=0) + 1 if rng.random() < 0.8 else rng.randrange(1, 6)
        return row

    def insert(s, db, e, row):
        db.execute(
            "INSERT INTO %s(%s) VALUES(%s)"
            % (e.name, ",".join(e.cols), ",".join("?" * len(e.cols))),
            [row[c] for c in e.cols],
        )

    def duel(s, i):
        """two replicas change the same object, or an object and what it refers to, at the same time"""
        rng = s.rng
        e = s.schema[rng.choice(sorted(s.schema))]
        f = e
        ops = ["upd", "updf", "updf", "updu", "updab", "del", "again", "swap", "rekey", "ins"]
        op1 = rng.choice(ops)
        op2 = op1 if rng.random() < 0.4 else rng.choice(ops)
        if e.fks and rng.random() < 0.5:
            f = s.schema[rng.choice(e.fks).target]
            op2 = rng.choice(["del", "del", "rekey", "again", "updu"])
        at = rng.randrange(3)
        a, b = rng.sample(s.reps, 2)
        at2 = at if f is e else rng.randrange(3)
        seeds = [rng.getrandbits(32) for _ in range(4)]
        third = rng.choice(s.reps)
        x = rng.random()
        if i in s.skip:
            return
        for r, g, k, op, sd in ((a, e, at, op1, seeds[0]), (b, f, at2, op2, seeds[1])) + (
            ((third, e, at, op2, seeds[2]),) if x < 0.4 else ()
        ):
            s.do_edit(i, r, random.Random(sd), (g.name, k, op))

    def do_edit(s, i, r, sub, force=None):
        before = s.toks(r.tables)
        s.say("--", i, r.name, "edits", force or "")
        ed = s.edit(r, sub, force)
        if ed is None:
            return
        t = r.commit(ed, i * 10 + s.skew[s.reps.index(r)])
        if t is None:
            return
        s.all.append(t)
        s.stat["txn"] += 1
        s.say("   facts", *["\n      " + repr(f) for f in t.facts])
        now = s.toks(ed.after)
        for x in now - before:
            s.written[x] = (r.name, i)
        s.overwritten |= before - now

    def edit(s, r, rng, force=None):
        """a random transaction; returns M.Edit"""
        db = r.db
        again = set()
        rekeyed = {}
        if s.verbose:
            db.set_trace_callback(
                lambda q: (
                    print("     ", r.name, q)
                    if q.split()[0] in ("INSERT", "UPDATE", "DELETE")
                    else None
                )
            )
        db.execute("BEGIN")
        for turn in range(rng.choice([1, 1, 1, 2, 2, 3])):
            tables = r.read()
            e = s.schema[rng.choice(sorted(s.schema))]
            keys = sorted([k[1] for k in tables if k[0] == e.name], key=repr)
            wh = " AND ".join("%s=?" % c for c in e.pk)
            if s.focus and rng.random() < 0.6 and any(k[0] == s.focus[0] for k in tables):
                e = s.schema[s.focus[0]]
                keys = sorted([k[1] for k in tables if k[0] == e.name], key=repr)
                wh = " AND ".join("%s=?" % c for c in e.pk)
                if rng.random() < 0.7:
                    keys = keys[:2]
            fop = s.focus[1] if s.focus and rng.random() < 0.6 else None
            if force and turn == 0:
                e = s.schema[force[0]]
                wh = " AND ".join("%s=?" % c for c in e.pk)
                fop = force[2]
                keys = sorted([k[1] for k in tables if k[0] == e.name], key=repr)
                if fop != "swap" and keys:
                    keys = [keys[force[1] % len(keys)]]
            op = fop or rng.choice(
                [
                    "ins",
                    "ins",
                    "ins",
                    "upd",
                    "upd",
                    "updu",
                    "updf",
                    "updab",
                    "del",
                    "del",
                    "del",
                    "again",
                    "rekey",
                    "swap",
                ]
            )
            if not keys:
                op = "ins"
            try:
                if op == "ins":
                    self_row = s.newrow(rng, r, e, tables)
                    s.insert(db, e, self_row)
                elif op == "del":
                    db.execute("DELETE FROM %s WHERE %s" % (e.name, wh), rng.choice(keys))
                elif op == "again":
                    k = rng.choice(keys)
                    row = s.newrow(rng, r, e, tables, k)
                    db.execute("SAVEPOINT x")
                    try:
                        db.execute("DELETE FROM %s WHERE %s" % (e.name, wh), k)
                        s.insert(db, e, row)
                        again.add((e.name, k))
                        db.execute("RELEASE x")
                    except sqlite3.IntegrityError:
                        db.execute("ROLLBACK TO x")
                        db.execute("RELEASE x")
                elif op == "rekey":
                    k = rng.choice(keys)
                    if e.private:
                        k2 = (rng.randrange(1, 8),)
                    else:
                        k2 = tuple(s.newrow(rng, r, e, tables)[c] for c in e.pk)
                    if (
                        None not in k2
                        and k2 != k
                        and (e.name, k2) not in r.tables
                        and (e.name, k) in r.tables
                    ):
                        cur = db.execute(
                            "UPDATE %s SET %s WHERE %s"
                            % (e.name, ",".join("%s=?" % c for c in e.pk), wh),
                            list(k2) + list(k),
                        )
                        if cur.rowcount and e.private or cur.rowcount:
                            rekeyed[e.name, k2] = (e.name, k)
                elif op == "swap":
                    if "u" in e.cols and len(keys) > 1:
                        k, k2 = rng.sample(keys, 2)
                        u1 = tables[e.name, k]["u"]
                        u2 = tables[e.name, k2]["u"]
                        for kk, v in ((k, "tmp"), (k2, u1), (k, u2)):
                            db.execute("UPDATE %s SET u=? WHERE %s" % (e.name, wh), (v,) + kk)
                else:
                    k = rng.choice(keys)
                    new = s.newrow(rng, r, e, tables, k)
                    if op == "upd":
                        cs = ["d"] + (["e"] if "e" in e.cols and rng.random() < 0.5 else [])
                    elif op == "updu":
                        cs = [c for c in ("u",) if c in e.cols] + [
                            c for c in e.cols if c[0] == "p" and rng.random() < 0.5
                        ]
                    elif op == "updab":
                        cs = [
                            c
                            for c in e.cols
                            if c in ("a", "b") and rng.random() < 0.6 or c[0] in "cgh"
                        ]
                    else:
                        fs = [f for f in e.fks if not set(f.cols) & set(e.pk)]
                        cs = list(rng.choice(fs).cols) if fs else []
                    if cs:
                        db.execute(
                            "UPDATE %s SET %s WHERE %s"
                            % (e.name, ",".join("%s=?" % c for c in cs), wh),
                            [new[c] for c in cs] + list(k),
                        )
            except sqlite3.IntegrityError as x:
                s.say("     refused", x)
        if any(v == "tmp" for row in r.read().values() for v in row.values()):
            db.execute("ROLLBACK")
            return None
        try:
            db.execute("COMMIT")
        except sqlite3.IntegrityError as x:
            s.say("     refused", x)
            db.execute("ROLLBACK")
            return None
        db.set_trace_callback(None)
        after = r.read()
        # what the capture log knows: net effect per key
        rk = {}
        for new, old in rekeyed.items():
            if (
                new in after
                and new not in r.tables
                and old in r.tables
                and old not in after
                and new not in again
                and old not in again
                and old not in rk.values()
            ):
                rk[new] = old
        again = {k for k in again if k in after and k in r.tables}
        return s.M.Edit(after, again, rk)

    def toks(s, tables):
        return {v for row in tables.values() for c, v in row.items() if c in ("d", "e") and v}

    def step(s, i):
        if s.dueling and i % s.dueling == 0:
            return s.duel(i)
        rng = s.rng
        r = rng.choice(s.reps)
        seed = rng.getrandbits(32)
        what = rng.random()
        other = rng.choice(s.reps)
        back = rng.random()
        sub = random.Random(seed)
        if i in s.skip:
            return
        if what < 0.47:
            s.do_edit(i, r, sub)
        elif what < 0.5 and s.gcon:
            n = r.gc([x.name for x in s.reps])
            s.stat["gc"] += n
            if n:
                s.say("--", i, r.name, "collects", n)
        elif what < 0.52 and s.closing:
            before = s.toks(r.tables)
            if r.base.objs:
                s.say("--", i, r.name, "closes")
                s.all.append(r.close(i * 10 + s.skew[s.reps.index(r)]))
                s.stat["closed"] += 1
        elif other is not r:
            since = dict(other.base.vector)
            if back < 0.3 and since:
                since = {k: sub.randint(0, v) for k, v in since.items()}  # repeated facts
            upto = None if back < 0.7 else sub.randint(0, len(r.base.order))  # a prefix
            b = r.base.delta(since, upto)
            s.say(
                "--",
                i,
                r.name,
                "->",
                other.name,
                "since",
                since,
                "upto",
                upto,
                [t.dot for t in b["txns"]],
            )
            if sub.random() < 0.15:
                s.pool.append((other, b))
                return
            got = other.receive(b)
            s.stat["merge"] += 1
            if upto is None and got:
                other.ack(r.name, r.base.vector)
            r.ack(other.name, other.base.vector)
            if s.pool and sub.random() < 0.5:
                o, b = sub.choice(s.pool)
                o = sub.choice([o] + s.reps)
                s.say("   late batch to", o.name, o.receive(b))
            s.show(other)

    def show(s, r):
        if s.verbose:
            for k, row in sorted(r.tables.items(), key=repr):
                print("     ", r.name, k, row, r.keymap[k])

    def populate(s):
        """rows that all replicas have seen before the schedule starts"""
        r = s.reps[0]
        rng = s.rng
        for _ in range(2):
            before = s.toks(r.tables)
            r.db.execute("BEGIN")
            for _ in range(4):
                tables = r.read()
                e = s.schema[s.rng.choice(sorted(s.schema))]
                try:
                    s.insert(r.db, e, s.newrow(rng, r, e, tables))
                except sqlite3.IntegrityError:
                    pass
            try:
                r.db.execute("COMMIT")
            except sqlite3.IntegrityError:
                r.db.execute("ROLLBACK")
                continue
            ed = s.M.Edit(r.read())
            t = r.commit(ed, 0)
            if t:
                s.all.append(t)
            for x in s.toks(ed.after) - before:
                s.written[x] = (r.name, -1)
        for o in s.reps[1:]:
            o.receive(r.base.delta({}))
        s.say("== common start")
        s.show(r)

    def run(s):
        if s.start:
            s.populate()
        for i in range(s.steps):
            s.step(i)
        if s.second:  # everyone meets, the dead are collected, then it goes on
            s.finish()
            for _ in range(2):
                for a in s.reps:
                    for b in s.reps:
                        if a is not b:
                            a.ack(b.name, b.base.vector)
                for r in s.reps:
                    if s.rng.random() < 0.7:
                        n = r.gc([x.name for x in s.reps])
                        s.stat["gc"] += n
            for i in range(s.steps, s.steps + s.rng.choice([4, 8, 12])):
                s.step(i)
        s.finish()

    def finish(s):
        s.say("== full exchange")
        rounds = 0
        while True:
            moved = 0
            rounds += 1
            order = [(a, b) for a in s.reps for b in s.reps if a is not b]
            s.rng.shuffle(order)
            for a, b in order:
                batch = a.base.delta(b.base.vector)
                if batch["txns"] or batch["facts"]:
                    moved += 1
                    if not b.receive(batch):
                        raise Fail("gap in full exchange")
            if not moved:
                break
            if rounds > 4:
                raise Fail("no quiescence")
        for r in s.reps:
            s.show(r)
        c0 = s.reps[0].canonical()
        for r in s.reps[1:]:
            if r.canonical() != c0:
                raise Fail(
                    "replicas differ: %s %s"
                    % (sorted(c0 - r.canonical(), key=repr), sorted(r.canonical() - c0, key=repr))
                )
        # order independence: all transactions with all their facts, in an arbitrary order
        txns = list(s.all)
        s.rng.shuffle(txns)
        f = Replica(s.M, "Z", s.schema, s.ddl, random.Random(1))
        for t in txns:
            f.base.add_txn(t)
            for x in t.facts:
                f.base.add_fact(x)
        f.show(s.M.view(f.base))
        if f.canonical() != c0:
            raise Fail("order of transactions matters")
        if not s.stat["gc"] and f.V.log.keys() != s.reps[0].V.log.keys():
            raise Fail("open conflicts differ")
        seen = set()
        for r in s.reps:
            seen |= s.toks(r.tables)
            for why, v in r.log.values():
                if v:
                    seen |= set(x for x in v if isinstance(x, str))
        lost = {t for t in s.written if t not in seen and t not in s.overwritten}
        if lost:
            raise Fail("lost values %s" % sorted((t, s.written[t]) for t in lost))
        s.stat["log"] = len(s.reps[0].log)
        s.stat["revived"] = len(s.reps[0].V.revived)
        s.stat["merged"] = sum(len(r.members) > 1 for r in s.reps[0].V.rows.values())


def run_one(M, seed, **k):
    try:
        s = Sim(M, seed, **k)
        s.run()
        return None, s.stat
    except Fail as x:
        return "Fail: " + str(x)[:300], None
    except Exception as x:
        tb = traceback.extract_tb(x.__traceback__)[-1]
        return "%s: %s @%s:%d" % (type(x).__name__, str(x)[:200], tb.name, tb.lineno), None


def main():
    import model as M, signal

    a = int(sys.argv[1])
    b = int(sys.argv[2])
    t = time.time()
    fails = 0
    tot = defaultdict(int)
    for seed in range(a, b):
        err, st = run_one(M, seed)
        if err:
            fails += 1
            if fails <= 12:
                print(seed, err)
        else:
            for k, v in st.items():
                tot[k] += v
                tot["with_" + k] += v > 0
        if (seed - a + 1) % 10000 == 0:
            print(
                "..",
                seed + 1 - a,
                "fails",
                fails,
                "%.0fs" % (time.time() - t),
                dict(tot),
                flush=True,
            )
    print("done", b - a, "fails", fails, "%.1fs" % (time.time() - t), dict(tot))


if __name__ == "__main__":
    main()
