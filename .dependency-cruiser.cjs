/** Which library may import which others. ARCHITECTURE.md shows the same table. */
const MAY_IMPORT = {
  domain: [],
  network: [],
  'embedded-postgres': [],
  config: ['network'],
  logging: ['config'],
  process: [],
  wire: ['domain'],
  storage: ['domain', 'embedded-postgres'],
  'event-log': ['domain', 'storage'],
  audit: ['domain', 'storage', 'event-log'],
  access: ['domain', 'storage', 'config'],
  tasks: ['domain', 'network', 'storage', 'event-log', 'access'],
  client: ['domain', 'network', 'wire'],
  execution: ['domain', 'storage', 'tasks', 'wire', 'client'],
  streaming: ['domain', 'storage', 'tasks', 'wire'],
  webhooks: ['domain', 'network', 'storage', 'tasks', 'wire'],
};

const libraries = Object.keys(MAY_IMPORT);

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...libraries.map((library) => ({
      name: `imports-of-${library}`,
      comment: `libs/${library} may import ${MAY_IMPORT[library].join(', ') || 'no other library'}`,
      severity: 'error',
      from: { path: `^libs/${library}/` },
      to: { path: '^(libs|apps)/', pathNot: `^libs/(${[library, ...MAY_IMPORT[library]].join('|')})/` },
    })),
    {
      name: 'one-entry-point',
      comment: "a library's index.ts is its only entry point",
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: { path: '^libs/([^/]+)/src/', pathNot: ['^libs/$2/', '/src/index\\.ts$'] },
    },
    {
      name: 'event-log-behind-tasks',
      comment:
        'commands, queries and projections in libs/tasks are the only users of EventLog; audit reads its hash functions',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: ['^libs/(event-log|audit|tasks)/', '\\.spec\\.ts$'] },
      to: { path: '^libs/event-log/' },
    },
    {
      name: 'no-app-to-app',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'no-tests-in-production',
      comment: 'production code imports no test code',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^test/|\\.spec\\.ts$' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
