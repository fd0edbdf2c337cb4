/** Which room may import from which: the arrows of ARCHITECTURE.md. */
const ARROWS = {
  domain: [],
  config: [],
  network: [],
  wire: ['domain'],
  storage: ['domain'],
  access: ['domain', 'storage', 'config'],
  tasks: ['domain', 'network', 'storage', 'access'],
  execution: ['domain', 'storage', 'tasks', 'client'],
  delivery: ['domain', 'network', 'storage', 'access', 'tasks', 'wire'],
  client: ['domain', 'network', 'wire'],
};

const rooms = Object.keys(ARROWS);

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    ...rooms.map((room) => ({
      name: `arrows-of-${room}`,
      comment: `libs/${room} may import ${ARROWS[room].join(', ') || 'no other room'}`,
      severity: 'error',
      from: { path: `^libs/${room}/` },
      to: { path: '^(libs|apps)/', pathNot: `^libs/(${[room, ...ARROWS[room]].join('|')})/` },
    })),
    {
      name: 'one-entrance',
      comment: "a room's index.ts is its only entrance",
      severity: 'error',
      from: { path: '^(libs|apps|migrations)/([^/]+)/' },
      to: { path: '^libs/([^/]+)/src/', pathNot: ['^libs/$2/', '/src/index\\.ts$'] },
    },
    {
      name: 'no-app-to-app',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'tests-stay-outside',
      comment: 'what runs in production imports no test',
      severity: 'error',
      from: { path: '^(libs|apps|migrations)/', pathNot: '\\.spec\\.ts$' },
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
