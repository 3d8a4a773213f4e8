/** JSON Schemas of node types, as far as forms need them. */
import { isObject, type JsonObject } from '../graph/flow';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly allOf?: readonly Schema[];
  readonly if?: Schema;
  readonly then?: Schema;
  readonly const?: unknown;
  readonly $defs?: { readonly [name: string]: Schema };
}

export function resolved(schema: Schema, root: Schema): Schema {
  if (!schema.$ref) return schema;
  const name = schema.$ref.replace('#/$defs/', '');
  return { ...root.$defs?.[name], ...without$ref(schema) };
}

function without$ref({ $ref: _, ...rest }: Schema): Schema {
  return rest;
}

/** With what its conditions add for this value. */
export function conditioned(schema: Schema, value: JsonObject): Schema {
  const clauses = [schema, ...(schema.allOf ?? [])].filter(
    (each) => each.if && each.then && holds(each.if, value, schema),
  );
  return {
    ...schema,
    properties: Object.assign({}, schema.properties, ...clauses.map(({ then }) => then?.properties)),
    required: [...(schema.required ?? []), ...clauses.flatMap(({ then }) => then?.required ?? [])],
  };
}

function holds(condition: Schema, value: JsonObject, schema: Schema): boolean {
  return Object.entries(condition.properties ?? {}).every(([name, each]) => {
    const given = value[name] ?? schema.properties?.[name]?.default;
    return given === each.const || (each.enum?.includes(given) ?? false);
  });
}

export type Kind = 'choice' | 'switch' | 'number' | 'text' | 'group' | 'map' | 'records' | 'lines' | 'any';

export function kindOf(schema: Schema): Kind {
  if (schema.enum) return 'choice';
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.includes('object') && schema.properties) return 'group';
  if (types.includes('string')) return types.includes('object') || types.includes('array') ? 'any' : 'text';
  if (types.includes('boolean')) return 'switch';
  if (types.includes('integer') || types.includes('number')) return 'number';
  if (types.includes('array')) return isObject(schema.items?.properties) ? 'records' : 'lines';
  return types.includes('object') ? 'map' : 'any';
}

/** Several lines rather than one. */
export function isLong(name: string, schema: Schema): boolean {
  return /^(body|html|message|description|text|sql)$/i.test(name) || schema.format === 'markdown';
}

export function titleOf(name: string, schema: Schema): string {
  return schema.title ?? name;
}
