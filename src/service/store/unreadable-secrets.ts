import { DEFAULT_ORGANIZATION, type OrganizationId } from '../../core/id.ts'
import type { SealedSecret } from '../../ports/credential-store.ts'
import type { Store } from '../../ports/store.ts'
import type { ServiceContext } from '../service-context.ts'

/** The default organization has no row until it is renamed. */
export const allOrganizations = async ({ people }: Pick<Store, 'people'>): Promise<Set<OrganizationId>> =>
  new Set([DEFAULT_ORGANIZATION, ...(await people.listOrganizations()).map(({ id }) => id)])

type SealedRows = {
  sealedPage(after: number, limit: number): Promise<{ number: number; id: string; sealed: SealedSecret }[]>
}

const PAGE = 100

/** Credentials, MCP servers and agents with secrets that the keys of this home cannot decrypt. */
export async function findUnreadableSecrets({ deps: { store }, secretKeys }: ServiceContext): Promise<string[]> {
  const unreadable: string[] = []
  const names = new Map<string, string>()
  for (const id of await allOrganizations(store))
    for (const { id: credential, provider, label } of await store.credentials.list(id))
      names.set(credential, `${provider} (${label})`)
  const { credentials, mcpServers, agents, webhookSecrets, webhooks, hooks } = store
  for (const rows of [credentials, mcpServers, agents, webhookSecrets, webhooks, hooks] satisfies SealedRows[])
    for await (const { id, sealed } of inPages(rows))
      if (secretKeys.box.open(sealed.secret, id) === undefined) unreadable.push(names.get(id) ?? id)
  return unreadable
}

async function* inPages(rows: SealedRows) {
  for (let after = 0; ; ) {
    const page = await rows.sealedPage(after, PAGE)
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.number
  }
}
