type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that configure Acta, or the connection of Acta to its database. */
const OWN = /^(ACTA_\w*|DATABASE_URL|PG[A-Z]+)$/i;

/** Returns the environment of an agent process: that of this process without Acta's own variables, which contain its secrets. */
export const childEnvironment = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !OWN.test(name)));
