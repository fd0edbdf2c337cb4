/** The W3C trace context of a request: the values of its headers `traceparent` and `tracestate`. */
export interface TraceContext {
  readonly parent: string;
  readonly state?: string;
}
