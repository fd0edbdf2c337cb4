import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '@app/config';
import { startServer } from './server.js';

// The heap may double before it is collected. Left to itself it takes half as much memory again under steady load and costs
// hardly less; at half of it, a fifth of the process's time goes into collecting.
setFlagsFromString('--heap-growing-percent=100');

// An agent that forgets a promise must not take every other run of the process along. What is thrown outside of any
// promise stays fatal: nobody knows what state it left.
process.on('unhandledRejection', (reason: unknown) => {
  const stack = reason instanceof Error ? reason.stack : String(reason);
  console.error(
    JSON.stringify({ level: 'error', context: 'server', message: 'a promise was rejected and nobody looked', stack }),
  );
});

try {
  const config = readConfig();
  const server = await startServer(config);
  const { url, tokenFile } = server;
  if (process.argv.includes('--json')) console.log(JSON.stringify({ url, tokenFile }));
  else for (const line of welcome(server, config.auth)) console.log(line);
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      server.close().then(
        () => process.exit(0),
        (error: Error) => {
          console.error(`acta: ${error.message}`);
          process.exit(1);
        },
      );
    });
  }
} catch (error) {
  console.error(`acta: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

function welcome({ url, tokenFile }: { url: string; tokenFile: string | null }, auth: string): string[] {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: { messageId: 'hello-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
  });
  const credential =
    auth === 'none'
      ? ''
      : ` -H "Authorization: Bearer ${tokenFile === null ? '$ACTA_TOKEN' : `$(cat '${tokenFile}')`}"`;
  return [
    `Acta listens on ${url}`,
    ...(tokenFile === null ? [] : [`The bearer token is in ${tokenFile}`]),
    'Try it:',
    `  curl -s ${url}/a2a${credential} -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d '${body}'`,
  ];
}
