// A client of syncd: one file, nothing but the standard library of Node.js 18 or later. Copy it.
//
//   const client = new Client();
//   for (const store of await client.stores()) console.log(store.path, store.state);
//   for await (const reply of client.follow("/srv/music.db", { after, hold: ["Album/348"] })) { ... }
//
// The interface is `org.syncd.Store`; docs/clients.md explains what crosses the socket.

import { existsSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const INTERFACE = "org.syncd.Store.";
// A reply of the daemon has about 1 MiB at most: what is longer is no reply.
const MESSAGE_BYTES_MAX = 16 << 20;
// Milliseconds before a lost connection is made again: doubled from the least to the most.
const RETRY_DELAY_MIN = 20;
const RETRY_DELAY_MAX = 2000;

// An error of the daemon, or of the connection to it. `code` is stable and says what to do (`busy`,
// `unknownStore`, `historyExpired`, ...); `reason` and `hint`, the next step, are for people.
export class SyncdError extends Error {
  constructor(code, reason, { hint, path, operation } = {}) {
    super((path ? `${path}: ` : "") + reason + (hint ? `. ${hint}` : ""));
    Object.assign(this, { name: "SyncdError", code, reason, hint, path, operation });
  }

  // The same call may succeed a moment later.
  get isTransient() {
    return ["busy", "unreachable", "diskFull"].includes(this.code);
  }

  // The token is no longer valid: read the rows again, go on at a token taken before that.
  get needsResync() {
    return ["historyExpired", "foreignHistory"].includes(this.code);
  }

  static ofReply(name, parameters) {
    const code = name.slice(name.lastIndexOf(".") + 1);
    return new SyncdError(code[0].toLowerCase() + code.slice(1), parameters.reason ?? name, parameters);
  }
}

// The daemon's socket: SYNCD_SOCKET, else that of the user's own daemon, else the system's.
export function socketPath(environment = process.env) {
  if (environment.SYNCD_SOCKET) return environment.SYNCD_SOCKET;
  const own = environment.XDG_RUNTIME_DIR && `${environment.XDG_RUNTIME_DIR}/syncd/syncd.sock`;
  return own && existsSync(own) ? own : "/run/syncd/syncd.sock";
}

function lost(path, cause) {
  if (cause.code === "EACCES" || cause.code === "EPERM") {
    return new SyncdError("notAllowed", `no permission to connect (${cause.message})`, {
      path, hint: `Ask for the group of the socket: ls -l ${path}`,
    });
  }
  return new SyncdError("unreachable", `syncd does not answer (${cause.message})`, {
    path, hint: "Start it: systemctl start syncd, or syncd --user",
  });
}

// One connection. Its calls are answered one after the other; a stream keeps it for itself.
class Connection {
  constructor(path, socket) {
    this.path = path;
    this.socket = socket;
    this.messages = this.#messages();
  }

  static open(path) {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", (error) => reject(lost(path, error)));
      socket.once("connect", () => {
        // From here on the iterator over the socket throws what goes wrong; until one is there, none is lost.
        socket.on("error", () => {});
        resolve(new Connection(path, socket));
      });
    });
  }

  close() {
    this.socket.destroy();
  }

  async call(method, parameters) {
    this.#send({ method: INTERFACE + method, parameters });
    return (await this.#receive()).parameters;
  }

  // The replies to a call with `more`, as they come.
  async *stream(method, parameters) {
    this.#send({ method: INTERFACE + method, parameters, more: true });
    for (;;) {
      const reply = await this.#receive();
      yield reply.parameters;
      if (!reply.continues) return;
    }
  }

  #send(message) {
    this.socket.write(JSON.stringify(message) + "\0");
  }

  async #receive() {
    let next;
    try {
      next = await this.messages.next();
    } catch (error) {
      throw error instanceof SyncdError ? error : lost(this.path, error);
    }
    if (next.done) throw lost(this.path, new Error("it closed the connection"));
    const { parameters = {}, error, continues = false } = JSON.parse(next.value);
    if (error) throw SyncdError.ofReply(error, parameters);
    return { parameters, continues };
  }

  // Cuts the stream at its NUL bytes. Bytes are joined before they are text: a chunk may end inside a character.
  async *#messages() {
    let chunks = [];
    let bytes = 0;
    for await (let chunk of this.socket) {
      for (let end; (end = chunk.indexOf(0)) >= 0; chunk = chunk.subarray(end + 1)) {
        yield Buffer.concat([...chunks, chunk.subarray(0, end)]).toString();
        chunks = [];
        bytes = 0;
      }
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MESSAGE_BYTES_MAX) {
        throw new SyncdError("badData", "a reply without end", { path: this.path });
      }
    }
  }
}

// Calls share one connection, made at the first call and again when it was lost.
export class Client {
  #connection = null;
  #last = Promise.resolve();

  constructor(path = socketPath()) {
    this.path = path;
  }

  // Calls a method of org.syncd.Store; resolves to the parameters of its reply.
  call(method, parameters = {}) {
    const answer = this.#last.then(() => this.#callNow(method, parameters));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #callNow(method, parameters) {
    this.#connection ??= await Connection.open(this.path);
    try {
      return await this.#connection.call(method, parameters);
    } catch (error) {
      if (["unreachable", "badData"].includes(error.code)) this.close();
      throw error;
    }
  }

  close() {
    this.#connection?.close();
    this.#connection = null;
  }

  // The stores that this user may see.
  async stores() {
    return (await this.call("List")).stores;
  }

  // Iterates over the replies of Subscribe, through restarts of the daemon: see `Subscription`.
  follow(store, { after, hold = [], ...options } = {}) {
    return new Subscription(this, store, after, hold, options);
  }
}

// The replies of Subscribe: each transaction of a store once, in order.
//
// A lost connection is made again, and the stream goes on after the last token that was received. A reply may have
//
// * subscription, head, held: it is the first after a connect;
// * transaction, of a large one a part. part.index 0 begins the transaction again: forget the parts of it that were
//   collected before;
// * notices, about held objects and the store;
// * token: save it with the effect of all replies up to this one.
//
// It throws a SyncdError that waiting does not mend, or that comes before the first reply.
export class Subscription {
  #connection = null;
  #name = null;

  constructor(client, store, after, hold, options) {
    Object.assign(this, { client, store, token: after, held: new Set(hold), options });
  }

  // Holds more objects, also after the next connect; resolves to how they are now.
  async hold(...objects) {
    for (const object of objects) this.held.add(object);
    return (await this.client.call("Hold", { subscription: this.#connected(), objects })).held;
  }

  async release(...objects) {
    for (const object of objects) this.held.delete(object);
    await this.client.call("Release", { subscription: this.#connected(), objects });
  }

  close() {
    this.#connection?.close();
  }

  #connected() {
    if (this.#name) return this.#name;
    throw new SyncdError("unreachable", "the subscription is not connected", { path: this.client.path });
  }

  async *#replies() {
    const parameters = { ...this.options, store: this.store };
    if (this.token !== undefined) parameters.after = this.token;
    if (this.held.size > 0) parameters.hold = [...this.held];
    this.#connection = await Connection.open(this.client.path);
    try {
      for await (const reply of this.#connection.stream("Subscribe", parameters)) {
        this.#name = reply.subscription ?? this.#name;
        this.token = reply.token ?? this.token;
        yield reply;
      }
      throw new SyncdError("unreachable", "syncd ended the subscription", { path: this.client.path });
    } finally {
      this.#name = null;
      this.#connection.close();
    }
  }

  async *[Symbol.asyncIterator]() {
    let wasConnected = false;
    for (let delay = RETRY_DELAY_MIN; ; delay = Math.min(delay * 2, RETRY_DELAY_MAX)) {
      try {
        for await (const reply of this.#replies()) {
          wasConnected = true;
          delay = RETRY_DELAY_MIN;
          yield reply;
        }
      } catch (error) {
        // A socket that was just made may get its group and mode a moment later.
        if (!wasConnected || !(error.isTransient || error.code === "notAllowed")) throw error;
      }
      await sleep(delay * (0.75 + Math.random() / 2));
    }
  }
}
