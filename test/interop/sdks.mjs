import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyFolder, installOnce, run } from './installation.mjs';

const folderOf = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * An official SDK in one version.
 *
 * @typedef {object} Sdk
 * @property {string} id
 * @property {'JavaScript' | 'Python' | 'Go' | 'Java'} language
 * @property {string} package name of the package in the registry of the language
 * @property {string} version
 * @property {'1.0' | '0.3'} protocol
 * @property {('JSONRPC' | 'HTTP+JSON')[]} bindings
 * @property {(cache: string) => Promise<string[]>} install installs the packages below a folder, and returns the command of the client
 * @property {string[]} notes what the client does because of the SDK
 */

const BOTH = /** @type {Sdk['bindings']} */ (['JSONRPC', 'HTTP+JSON']);

/** @type {readonly Sdk[]} */
export const SDKS = [
  {
    id: 'javascript-1.0',
    language: 'JavaScript',
    package: '@a2a-js/sdk',
    version: '1.3.0',
    protocol: '1.0',
    bindings: BOTH,
    install: async () => [process.execPath, folderOf('javascript/client-v1.mjs')],
    notes: ['The client verifies the JSON of the card: the verifier drops the security schemes of a decoded card.'],
  },
  {
    id: 'javascript-0.3',
    language: 'JavaScript',
    package: '@a2a-js/sdk',
    version: '0.3.14',
    protocol: '0.3',
    bindings: BOTH,
    install: async () => [process.execPath, folderOf('javascript/client-v03.mjs')],
    notes: [],
  },
  python('1.0', '1.3.0', 'client_v1.py', []),
  python('0.3', '0.3.26', 'client_v03.py', [
    'The client sets the `Authorization` header for HTTP+JSON: the SDK uses no interceptor for this binding.',
    'The SDK has no operation that lists or deletes push configurations.',
  ]),
  go('1.0', 'github.com/a2aproject/a2a-go/v2', '2.3.1', 'v1', BOTH, [
    'The client sets the `Authorization` header: the interceptor of the SDK needs the security requirements of the card.',
  ]),
  go('0.3', 'github.com/a2aproject/a2a-go', '0.3.15', 'v03', ['JSONRPC'], ['The SDK has no client for HTTP+JSON.']),
  java('1.0', '1.0.0.Alpha3', 'v1', 'ClientV1', [
    'The client sends `A2A-Version: 1.0` with the request of the card and with an interceptor: the SDK does not send it.',
    'The client starts a task with a stream: the SDK sends `blocking` of a draft of A2A 1.0 instead of `returnImmediately`.',
    'The client lists full pages only: the SDK rejects a page that has fewer tasks than its size.',
  ]),
  java('0.3', '0.3.3.Final', 'v03', 'ClientV03', []),
];

/** @returns {Sdk} */
function python(
  /** @type {Sdk['protocol']} */ protocol,
  /** @type {string} */ version,
  /** @type {string} */ client,
  /** @type {string[]} */ notes,
) {
  const install = async (/** @type {string} */ cache) => {
    const home = join(cache, `python-${version}`);
    const executable = join(home, 'bin/python');
    await installOnce(home, async () => {
      await run('python3', ['-m', 'venv', home]);
      await run(executable, ['-m', 'pip', 'install', '--quiet', `a2a-sdk[signing]==${version}`, 'cryptography']);
    });
    return [executable, join(folderOf('python'), client)];
  };
  const id = `python-${protocol}`;
  return { id, language: 'Python', package: 'a2a-sdk', version, protocol, bindings: BOTH, install, notes };
}

/** @returns {Sdk} */
function go(
  /** @type {Sdk['protocol']} */ protocol,
  /** @type {string} */ name,
  /** @type {string} */ version,
  /** @type {string} */ folder,
  /** @type {Sdk['bindings']} */ bindings,
  /** @type {string[]} */ notes,
) {
  const install = async (/** @type {string} */ cache) => {
    const home = await copyFolder(folderOf('go'), join(cache, 'go'));
    const program = join(home, 'bin', folder);
    await run('go', ['build', '-mod=mod', '-o', program, `./${folder}`], home);
    return [program];
  };
  return { id: `go-${protocol}`, language: 'Go', package: name, version, protocol, bindings, install, notes };
}

/** @returns {Sdk} */
function java(
  /** @type {Sdk['protocol']} */ protocol,
  /** @type {string} */ version,
  /** @type {string} */ folder,
  /** @type {string} */ main,
  /** @type {string[]} */ notes,
) {
  const install = async (/** @type {string} */ cache) => {
    const home = await copyFolder(folderOf('java'), join(cache, 'java'));
    const goals = ['compile', 'dependency:build-classpath', '-Dmdep.outputFile=target/classpath'];
    await run('mvn', ['--quiet', '--batch-mode', '-Dstyle.color=never', ...goals], join(home, folder));
    const target = join(home, folder, 'target');
    const dependencies = await readFile(join(target, 'classpath'), 'utf8');
    return ['java', '-cp', [join(target, 'classes'), dependencies.trim()].join(delimiter), main];
  };
  const name = 'io.github.a2asdk:a2a-java-sdk-client';
  return { id: `java-${protocol}`, language: 'Java', package: name, version, protocol, bindings: BOTH, install, notes };
}
