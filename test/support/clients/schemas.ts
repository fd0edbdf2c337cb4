import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

interface Bundle {
  readonly definitions: Record<string, Record<string, unknown>>;
}

const read = (version: string): Bundle => {
  const path = fileURLToPath(new URL(`../../../contracts/schemas/a2a-v${version}.schema.json`, import.meta.url));
  return JSON.parse(readFileSync(path, 'utf8')) as Bundle;
};

/** Both bundles contain keywords of their generators, which a strict validator rejects. */
const OPTIONS = { strict: false, allErrors: true } as const;

/** Returns a validator of v1.0. Its schemas refer to each other by proto message names; their titles have spaces instead. */
function v1Schemas(): Ajv2020 {
  const ajv = new Ajv2020(OPTIONS);
  formats.default(ajv);
  for (const [title, schema] of Object.entries(read('1.0').definitions)) {
    const scope = ['Struct', 'Timestamp', 'Value'].includes(title) ? 'google.protobuf' : 'lf.a2a.v1';
    ajv.addSchema(schema, `${scope}.${title.replaceAll(' ', '')}.jsonschema.json`);
  }
  return ajv;
}

function v03Schemas(): Ajv {
  const ajv = new Ajv(OPTIONS);
  formats.default(ajv);
  return ajv.addSchema(read('0.3'), 'a2a-v0.3');
}

const v1 = v1Schemas();
const v03 = v03Schemas();

function expectValid(validate: ValidateFunction | undefined, value: unknown): void {
  if (validate === undefined) throw new Error('the bundle has no schema of this name');
  validate(value);
  expect(validate.errors ?? []).toEqual([]);
}

/** Validates a value against a v1.0 message, such as `SendMessageResponse`. */
export const expectV1 = (message: string, value: unknown): void =>
  expectValid(v1.getSchema(`lf.a2a.v1.${message}.jsonschema.json`), value);

/** Validates a value against a v0.3 definition, such as `SendMessageSuccessResponse`. */
export const expectV03 = (definition: string, value: unknown): void =>
  expectValid(v03.getSchema(`a2a-v0.3#/definitions/${definition}`), value);
