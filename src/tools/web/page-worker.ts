import { parentPort, workerData } from 'node:worker_threads'
import { readPage } from './read-page.ts'

// One page, one worker: its memory and its time are limited from outside.
parentPort!.postMessage(await readPage(workerData))
