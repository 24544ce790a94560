import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { IMPORT_KINDS } from '../../core/import.ts'
import { Problem } from '../../core/problem.ts'
import { withoutEnding } from '../../core/without-ending.ts'
import { keptObjects, listImports, showImport, startImport, stopImport } from '../../service/imports/imports.ts'
import { id, limit } from '../field.ts'
import { operation } from '../operation.ts'
import { importSchema, keptObjectSchema, wireImport, wireKeptObject } from './wire/import.ts'

const importPath = { import_id: id('import').describe('The id of an import.') }

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const startBody = z.object({
  url: z
    .string()
    .max(2_000)
    .refine(isHttpUrl, 'must be an http or https address, such as http://old-server:8283')
    .meta({ format: 'uri' })
    .nullish()
    .describe('Address of a retired Letta server, 0.8 to 0.16, such as http://old-server:8283.'),
  file: z
    .string()
    .min(1)
    .max(4_000)
    .nullish()
    .describe(
      'File that `holdfast export` wrote, as an absolute path on the machine of this server; for operators only.',
    ),
  key: z.string().max(10_000).nullish().describe('Password of the old server. Stored encrypted until the import ends.'),
  agents: z.array(z.string().min(1)).min(1).max(1_000).nullish().describe('Ids or names of agents. Default: all.'),
  rate: z
    .number()
    .gt(0)
    .max(10_000)
    .nullish()
    .describe('Most requests per second to the old server. Default: no limit.'),
  dry_run: z.boolean().nullish().describe('Whether to read and report only, and import nothing.'),
})

const startImportOperation = operation({
  route: 'POST /v1/import',
  scope: 'admin',
  summary:
    'Imports all of a retired server, or an export of Holdfast; the same request goes on with an import that ended early',
  group: 'import',
  body: startBody,
  example: { url: 'http://old-server:8283' },
  answer: importSchema,
  async handle({ body }, context) {
    const { key, agents, rate, dry_run } = body
    const report = await startImport(
      {
        origin: originOf(body),
        options: defined({ agents: agents ?? undefined, rate: rate ?? undefined, dryRun: dry_run ?? undefined }),
        ...defined({ key: key || undefined }),
      },
      context,
    )
    return wireImport(report)
  },
})

function originOf({ url, file }: z.output<typeof startBody>): Parameters<typeof startImport>[0]['origin'] {
  if (Boolean(url) === Boolean(file)) throw new Problem('invalid', 'body: give `url` or `file`, and not both')
  if (file) {
    if (!file.startsWith('/')) throw new Problem('invalid', `body.file: must be an absolute path, not "${file}"`)
    return { type: 'file', path: file }
  }
  const { origin, pathname } = new URL(url!)
  return { type: 'server', url: `${origin}${withoutEnding(pathname, '/')}` }
}

const listImportsOperation = operation({
  route: 'GET /v1/import',
  scope: 'admin',
  summary: 'Lists imports, newest first, without remarks',
  group: 'import',
  answer: z.array(importSchema),
  handle: async (_, context) => (await listImports(context)).map(wireImport),
})

const showImportOperation = operation({
  route: 'GET /v1/import/:import_id',
  scope: 'admin',
  summary: 'Shows the progress of an import and, at its end, both sides compared',
  group: 'import',
  params: importPath,
  answer: importSchema,
  handle: async ({ params }, context) => wireImport(await showImport(params.import_id, context)),
})

const stopImportOperation = operation({
  route: 'POST /v1/import/:import_id/stop',
  scope: 'admin',
  summary: 'Stops a running import; the request that started it goes on with it',
  group: 'import',
  params: importPath,
  answer: importSchema,
  handle: async ({ params }, context) => wireImport(await stopImport(params.import_id, context)),
})

const keptObjectsOperation = operation({
  route: 'GET /v1/import/:import_id/kept',
  scope: 'admin',
  summary: 'Lists objects without a home in Holdfast that were kept with an import, with their JSON',
  group: 'import',
  params: importPath,
  query: z.object({
    kind: z.enum(IMPORT_KINDS).describe('Kind of the objects, such as folder or identity.'),
    after: z.string().optional().describe('Cursor: id of the last object of the previous page.'),
    limit: limit(50, 200),
  }),
  answer: z.array(keptObjectSchema),
  handle: async ({ params, query }, context) =>
    (
      await keptObjects(params.import_id, { kind: query.kind, after: query.after ?? '', limit: query.limit }, context)
    ).map(wireKeptObject),
})

export const importOperations = [
  startImportOperation,
  listImportsOperation,
  showImportOperation,
  stopImportOperation,
  keptObjectsOperation,
]
