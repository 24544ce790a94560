/** Has the browser save what the page has. A link to the server would be a navigation, which the cookie is not for. */
export function save(name: string, content: BlobPart, type = 'application/octet-stream'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
