import { parentPort } from 'node:worker_threads'
import { readPage } from './read-page.ts'

// One page after another: the reader sends the next one after it has the answer.
parentPort!.on('message', async (page) => parentPort!.postMessage(await readPage(page)))
