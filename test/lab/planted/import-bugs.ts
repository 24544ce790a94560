import type { PlantedBug } from './plant.ts'

/** Bugs in imports. */
export const IMPORT_BUGS: PlantedBug[] = [
  {
    name: 'the row of an imported object is written after the object, in another transaction',
    file: 'service/imports/run-import.ts',
    lab: 'imports',
    find: '    if (!(await deps.store.imports.place(lease, placement, after))) throw new LostImport()\n',
    replace:
      "    if (!(await deps.store.imports.place(lease, { ...placement, objects: [] }, after))) throw new LostImport()\n    if (!(await deps.store.imports.place(lease, { type: 'objects', objects: placement.objects }, after))) throw new LostImport()\n",
    breaks: 'nothing happens twice: an object and its row are one commit',
  },
  {
    name: 'the cursor of a page is trusted',
    file: 'service/imports/place-messages.ts',
    lab: 'imports',
    find: "    const known = await store.imports.known(lease, 'message', ids, conversation)\n    if (!owner)",
    replace:
      "    const asked = await store.imports.known(lease, 'message', ids, conversation)\n    const known = new Map<string, KnownObject>([...asked].map(([id, one]) => [id, one.state === 'known' ? { state: 'taken' } : one]))\n    if (!owner)",
    breaks: 'nothing happens twice: what a cursor leads to is looked up',
  },
  {
    name: 'the cursor moves past objects that have no row yet',
    file: 'service/imports/place-messages.ts',
    lab: 'imports',
    find: '    await flushRows()\n    for (const unit of batch) {\n',
    replace: '    for (const unit of batch) {\n',
    breaks: 'nothing is lost: what was left out has a row with its reason',
  },
]
