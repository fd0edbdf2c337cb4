const MiB = 1024 * 1024;

/** The limits of requests, tasks and responses. Sizes are in bytes of UTF-8 JSON. */
export const BOUNDS = {
  requestBodyBytes: 1_500_000,
  clientMessages: 100,
  clientHistoryBytes: 8 * MiB,
  agentMessages: 1_000,
  agentHistoryBytes: 8 * MiB,
  taskBytes: 2 * MiB,
  pageBytes: 4 * MiB,
  pageArtifacts: 100,
  pageArtifactParts: 1_000,
  taskArtifacts: 20,
  artifactParts: 20,
  /** Artifacts that one run may start. Every append carries their ids in the task state, so their number is bounded. */
  runArtifacts: 1_000,
  pageSizeMax: 100,
  pageSizeDefault: 50,
  jsonDepth: 64,
  jsonKeys: 20_000,
  jsonStringBytes: 1_400_000,
  idLength: 256,
  /** Webhooks of one task. Each event is sent to every one of them. */
  pushConfigs: 20,
} as const;
