import storm from './storm.agent.mjs';

/** The storm agent without `run`: Acta serves its card, and only workers of the HTTP worker API execute it. */
export default {
  ...storm,
  name: 'worker-api',
  description: 'Returns its text in upper case, on an API worker',
  run: undefined,
};
