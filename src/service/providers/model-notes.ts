import { DEFAULT_ORGANIZATION } from '../../core/id.ts'
import type { ModelNote } from '../../core/model-note.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import type { ServiceContext } from '../service-context.ts'

type NotesContext = Pick<ServiceContext, 'deps'>

/** What is remembered of models, by name; see `NOTE_RULES`. Like credentials, notes belong to the server. */
export const listModelNotes = ({ deps }: NotesContext): Promise<ModelNote[]> =>
  deps.store.modelNotes.list(DEFAULT_ORGANIZATION, deps.clock.now())

/** Forgets what is remembered of a model, so that its next request is sent as it was before the failure. */
export async function forgetModelNotes(handle: string, { deps }: NotesContext): Promise<{ forgotten: number }> {
  const target = parseTarget(handle)
  if (!target) throw new Problem('invalid', `model: "${handle}" is not a model handle, written provider/model.`)
  return { forgotten: await deps.store.modelNotes.forget(DEFAULT_ORGANIZATION, target) }
}
