// Preloaded into a worker: each SIGUSR2 sets its clock back by a minute and a half, as a correction of the time would.
const STEP_MS = 90_000;
let behind = 0;
process.on('SIGUSR2', () => {
  behind += STEP_MS;
});

const RealDate = Date;
const now = () => RealDate.now() - behind;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, made) => Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
