import { spawn } from 'node:child_process'
import { newEgressRelay } from './egress-relay.ts'

/** Starts a program inside its sandbox with a way to the domains that it may reach; its stdin and stdout are this one's. */
const [egress = '', command = '', ...args] = process.argv.slice(2)
await newEgressRelay(JSON.parse(egress)).open()
const child = spawn(command, args, { stdio: 'inherit' })
child.on('error', (fault) => {
  process.stderr.write(`${fault.message}\n`)
  process.exit(127)
})
child.on('exit', (code) => process.exit(code ?? 1))
