#!/usr/bin/env node
// Appends what happens in a store to a file, one JSON line for each reply of the daemon.
//
//   follow.mjs                      lists the stores
//   follow.mjs DB FILE [OBJECT...]  follows one; of held objects ("Album/348") it prints each notice
//
// A line with a token ends what is processed: effect and position are one write. Killed at any moment and started
// again, this misses nothing and repeats nothing.

import { ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { Client, SyncdError } from "./syncd.mjs";

// The file. Lines behind the last token are parts of a transaction that will be sent again.
class Log {
  constructor(path) {
    this.file = openSync(path, "a+");
    this.end = 0;
    const bytes = readFileSync(this.file);
    for (let start = 0, next; (next = bytes.indexOf("\n", start) + 1) > 0; start = next) {
      const { token } = JSON.parse(bytes.subarray(start, next).toString());
      if (token !== undefined) Object.assign(this, { token, end: next });
    }
    this.#cut();
  }

  #cut() {
    ftruncateSync(this.file, this.end);
    this.position = this.end;
  }

  append(reply) {
    const beginsTransaction = reply.transaction && (reply.transaction.part?.index ?? 0) === 0;
    if (beginsTransaction && this.position > this.end) this.#cut();
    let line = Buffer.from(JSON.stringify(reply) + "\n");
    while (line.length > 0) {
      const written = writeSync(this.file, line);
      this.position += written;
      line = line.subarray(written);
    }
    if (reply.token !== undefined) Object.assign(this, { token: reply.token, end: this.position });
  }
}

async function printStores(client) {
  for (const { path, state, error } of await client.stores()) console.log(path, state, error?.reason ?? "");
}

function printNotices(notices) {
  for (const notice of notices) {
    for (const [kind, about] of Object.entries(notice)) {
      if (about !== null) console.log(kind, about.object ?? "");
    }
  }
}

async function follow(client, store, path, objects) {
  const log = new Log(path);
  for await (const reply of client.follow(resolve(store), { after: log.token, hold: objects })) {
    if (reply.subscription && log.token !== undefined) continue; // connected again: it is where the log ends
    log.append(reply);
    printNotices(reply.notices ?? []);
  }
}

const [store, path, ...objects] = process.argv.slice(2);
const client = new Client();
try {
  if (store === undefined) {
    await printStores(client);
  } else if (path !== undefined) {
    await follow(client, store, path, objects);
  } else {
    console.error("usage: follow.mjs [DB FILE [OBJECT...]]");
    process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof SyncdError)) throw error;
  const advice = error.needsResync ? ". Read the rows again and begin a new file" : "";
  console.error(`${error.code}: ${error.message}${advice}`);
  process.exitCode = 1;
}
client.close();
