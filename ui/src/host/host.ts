// What the window talks to. Owns the one interface, `Host`; the two ways to reach an engine stand beside it.
//
// The wire, the same both ways:
//   request   {id?, method, params}; a changing method always has an id (a UUID made here) and is sent again with the
//             same id when the connection was lost, because the engine runs an id once (B42).
//   reply     the method's value, or a failure {code, message, detail?}.
//   events    envelopes {kind: "event", seq, event} in order, or {kind: "resync"}.
//
//   window    invoke("rpc", {request}) resolves to the value or rejects with the failure;
//             invoke("subscribe", {channel}) with a Channel that then carries envelopes;
//             invoke("unsaved", {held}) before the window's closing has to ask.
//   browser   POST /rpc with the request as JSON → 200 {"ok": value} or {"error": failure};
//             WebSocket /events carries one envelope a message.

import { words } from "../words";
import { changing, type Envelope, type Error as WireError, type ErrorCode, type Methods } from "./api";

export type Method = keyof Methods;
export type Params<M extends Method> = Methods[M]["params"];
export type Reply<M extends Method> = Methods[M]["reply"];
export type Request = { id?: string; method: string; params: unknown };

/** How well the window reaches the engine. `denied`: the browser holds no valid cookie. */
export type Link = "connecting" | "live" | "lost" | "denied";

export interface Subscriber {
  envelope(envelope: Envelope): void;
  link(link: Link): void;
}

export interface Host {
  request<M extends Method>(method: M, params: Params<M>): Promise<Reply<M>>;
  /** Starts the event stream. After every `live` the subscriber takes a new snapshot. Returns the way to end it. */
  subscribe(subscriber: Subscriber): () => void;
  /** Whether every key reaches the page. A browser keeps some to itself, such as the one for a new window. */
  readonly everyKey: boolean;
  /** Tells whoever closes this page whether typed text would be lost. A browser asks the page itself. */
  unsaved?(held: boolean): void;
}

/** A failure that the engine reported, as it reported it. */
export class HostError extends Error {
  override name = "HostError";
  constructor(
    readonly code: ErrorCode | "unreachable" | "denied",
    message: string,
    readonly detail?: string,
  ) {
    super(message);
  }
}

/** Makes the request for a method; changing methods get an id. */
export function request(method: string, params: unknown): Request {
  return changing.has(method) ? { id: crypto.randomUUID(), method, params } : { method, params };
}

const codes: ReadonlySet<string> = new Set<ErrorCode>(["bad_request", "not_found", "conflict", "read_only", "needs_consent", "failed"]);

/** Reads a failure from whatever was thrown or sent. */
export function failure(value: unknown): HostError {
  if (value instanceof HostError) return value;
  if (typeof value === "object" && value !== null && "message" in value && typeof value.message === "string") {
    const { code, message, detail } = value as Partial<WireError> & { message: string };
    return new HostError(codes.has(code ?? "") ? (code as ErrorCode) : "failed", message, typeof detail === "string" ? detail : undefined);
  }
  return new HostError("failed", typeof value === "string" ? value : words.requestFailed);
}
