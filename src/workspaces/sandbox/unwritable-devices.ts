/**
 * Bubblewrap binds the machine's /dev/null and similar devices writable. Where the server is root, a sandboxed command
 * owns them and could change their mode for the whole machine, so bubblewrap is started in a mount namespace with a
 * read-only /dev. Where root may not remount, as in a container, the devices belong to the container and stay as they
 * are.
 */
export function withUnwritableDevices(command: string[]): string[] {
  return process.geteuid?.() === 0 ? ['/bin/sh', '-c', SCRIPT, 'sh', ...command] : command
}

const REMOUNT_SCRIPT = `mount -o remount,bind,ro /dev 2>/dev/null; exec "$@"`
const SCRIPT = `unshare -m true 2>/dev/null || exec "$@"; exec unshare -m /bin/sh -c '${REMOUNT_SCRIPT}' sh "$@"`
