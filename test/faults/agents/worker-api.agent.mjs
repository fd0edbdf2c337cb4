import storm from './storm.agent.mjs';

/** The agent of storms once more, run by remote workers alone: they have its code, and Acta has its card. */
export default { ...storm, name: 'afar', description: 'Upper-cases its text elsewhere', run: undefined };
