// Preloaded into a worker. Each SIGUSR2 sets its clock back by 90 s, as a correction of the system time does.
const STEP_MS = 90_000;
let offsetMs = 0;
process.on('SIGUSR2', () => {
  offsetMs += STEP_MS;
});

const RealDate = Date;
const now = () => RealDate.now() - offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
