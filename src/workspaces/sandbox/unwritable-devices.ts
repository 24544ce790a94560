/**
 * Bubblewrap binds the machine's own /dev/null and its like, writable. Where the server is root, a sandboxed command owns them
 * and could change their mode for everybody on the machine: it is made in a place where /dev takes no changes. Where root may
 * not do that, in a container say, they are the container's and stay as they are.
 */
export function withUnwritableDevices(command: string[]): string[] {
  return process.geteuid?.() === 0 ? ['/bin/sh', '-c', SCRIPT, 'sh', ...command] : command
}

const THERE = `mount -o remount,bind,ro /dev 2>/dev/null; exec "$@"`
const SCRIPT = `unshare -m true 2>/dev/null || exec "$@"; exec unshare -m /bin/sh -c '${THERE}' sh "$@"`
