// Every public method and property of the official E2B SDK for JavaScript, against `airlock-e2b`.
//
// `methods.mjs PACKAGES`, the directory with `node_modules`, and E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY. The methods
// are listed by reflection; those that the package's types declare as private or protected are left out. Each has a case.
// It prints `METHOD<tab>works` or `METHOD<tab>ERROR` for each method, in the order of the list.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const packages = process.argv[2]
const require = createRequire(pathToFileURL(join(packages, 'package.json')))
const sdk = require('e2b')
const { Sandbox, CommandExitError, FileNotFoundError, InvalidArgumentError, NotFoundError, SandboxError } = sdk
const types = readFileSync(join(packages, 'node_modules/e2b/dist/index.d.ts'), 'utf8')

// A failing case ends by this limit. A case needs a fraction of it.
const LIMIT = 120_000
const cases = new Map()

function of(...names) {
  const check = names.pop()
  for (const name of names) {
    assert(!cases.has(name), `two cases for ${name}`)
    cases.set(name, check)
  }
}

// --- the list

function body(name) {
  const begin = types.search(new RegExp(`^declare (abstract )?class ${name}\\b`, 'm'))
  return types.slice(begin, types.indexOf('\n}', begin))
}

function isHidden(name, member) {
  return new RegExp(`^\\s+(private|protected)\\s+(static\\s+|readonly\\s+|get\\s+)*${member}\\b`, 'm').test(body(name))
}

// Returns a class and those that it extends, without the internal base of all.
function chain(kind) {
  const found = []
  for (let at = kind; at && at.name && at.name !== 'ClientFactory'; at = Object.getPrototypeOf(at)) found.push(at)
  return found
}

function members(kind) {
  const skipped = ['length', 'name', 'prototype', 'constructor']
  return chain(kind).flatMap((at) =>
    [...Object.getOwnPropertyNames(at), ...Object.getOwnPropertyNames(at.prototype)].filter(
      (name) => !skipped.includes(name) && !isHidden(at.name, name)
    )
  )
}

function methods(objects) {
  return objects.flatMap((object) => {
    const kind = object.constructor
    const own = Object.keys(object).filter((name) => !chain(kind).some((at) => isHidden(at.name, name)))
    return [...new Set([...own, ...members(kind)])].sort().map((name) => `${kind.name}.${name}`)
  })
}

// --- helpers

async function until(check, what) {
  const end = Date.now() + 30_000
  while (Date.now() < end) {
    const result = await check()
    if (result) return result
    await sleep(100)
  }
  assert.fail(`not in time: ${what}`)
}

async function fails(kind, call) {
  try {
    await call()
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  assert.fail(`no ${kind.name}`)
}

async function all(pages) {
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  return found
}

// `fetch` does not permit another host in the header.
function get(url, headers) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      let text = ''
      response.on('data', (data) => (text += data))
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    sent.on('error', reject)
    sent.end()
  })
}

// --- sandboxes

of('Sandbox.create', 'Sandbox.kill', 'Sandbox.isRunning', async () => {
  const other = await Sandbox.create({ timeoutMs: 60_000, metadata: { a: '1' }, envs: { GREETING: 'hello' } })
  assert(await other.isRunning())
  assert.equal((await other.commands.run('echo $GREETING')).stdout, 'hello\n')
  assert.equal(await other.kill(), true)
  assert.equal(await Sandbox.kill(other.sandboxId), false)
  assert.equal(await other.isRunning(), false)
  await fails(SandboxError, () => other.commands.run('true'))
  await fails(Error, () => Sandbox.create('unknown'))
})

of('Sandbox.connect', 'Sandbox.sandboxId', async (s) => {
  const same = await Sandbox.connect(s.sandboxId)
  assert.equal((await same.commands.run('echo same')).stdout, 'same\n')
  await s.connect()
  await fails(sdk.SandboxNotFoundError, () => Sandbox.connect('iunknownunknownunknow'))
})

of('Sandbox.getInfo', 'Sandbox.getFullInfo', 'Sandbox.setTimeout', async (s) => {
  const info = await s.getInfo()
  assert.deepEqual([info.sandboxId, info.metadata, info.state], [s.sandboxId, { purpose: 'methods' }, 'running'])
  await s.setTimeout(1_200_000)
  const later = await Sandbox.getFullInfo(s.sandboxId)
  assert(later.endAt - later.startedAt > 1_100_000)
})

of(
  'Sandbox.list',
  'SandboxPaginator.nextItems',
  'SandboxPaginator.hasNext',
  'SandboxPaginator.nextToken',
  async () => {
    const marked = []
    for (let n = 0; n < 3; n++) marked.push(await Sandbox.create({ metadata: { group: 'a b&%' } }))
    const pages = Sandbox.list({ query: { metadata: { group: 'a b&%' }, state: ['running'] }, limit: 2 })
    assert.equal((await pages.nextItems()).length, 2)
    assert(pages.hasNext && pages.nextToken)
    assert.equal((await pages.nextItems()).length, 1)
    assert(!pages.hasNext)
    assert.deepEqual(await all(Sandbox.list({ query: { metadata: { group: 'none' } } })), [])
    for (const one of marked) await one.kill()
  }
)

of('Sandbox.pause', 'Sandbox.betaPause', async () => {
  const paused = await Sandbox.create()
  await paused.files.write('kept.txt', 'kept')
  await paused.commands.run('sleep 1000', { background: true })
  assert.match((await fails(SandboxError, () => paused.pause())).message, /501.*memory/)
  assert.equal(await paused.pause({ keepMemory: false }), true)
  assert.equal(await paused.betaPause({ keepMemory: false }), false)
  assert.equal((await paused.getInfo()).state, 'paused')
  const again = await Sandbox.connect(paused.sandboxId)
  assert.equal(await again.files.read('kept.txt'), 'kept')
  assert.deepEqual(await again.commands.list(), [])
  await again.kill()
})

of('Sandbox.getMetrics', async (s) => {
  await s.commands.run('true')
  const last = (await s.getMetrics()).at(-1)
  assert(last.cpuCount >= 1 && last.memUsed > 0)
})

of('Sandbox.updateNetwork', async (s) => {
  await s.updateNetwork({ allowOut: ['example.com'], denyOut: [sdk.ALL_TRAFFIC] })
  const refused = await fails(CommandExitError, () => s.commands.run('curl -sS https://example.org'))
  assert.match(refused.stderr, /airlock: .*example\.org/)
  await s.updateNetwork({})
})

of('Sandbox.downloadUrl', 'Sandbox.uploadUrl', async (s) => {
  await s.files.write('signed.txt', 'signed')
  const url = await s.downloadUrl('signed.txt', { useSignatureExpiration: 60 })
  assert.equal(await (await fetch(url)).text(), 'signed')
  assert.equal((await fetch(url.replace('signed.txt', 'other.txt'))).status, 401)
  assert.equal((await fetch(await s.downloadUrl('signed.txt', { useSignatureExpiration: -5 }))).status, 401)
  const form = new FormData()
  form.append('file', new Blob(['new']), 'evil')
  const sent = await fetch(await s.uploadUrl('uploaded.txt'), { method: 'POST', body: form })
  assert.equal(sent.status, 200)
  assert.equal(await s.files.read('uploaded.txt'), 'new')
  assert.equal(await s.files.exists('evil'), false)
})

of('Sandbox.getHost', 'Sandbox.sandboxDomain', 'Sandbox.trafficAccessToken', async (s) => {
  const command = 'cd /tmp && echo served > index.html && exec python3 -m http.server 8124'
  const server = await s.commands.run(command, { background: true })
  const host = s.getHost(8124)
  assert.equal(host, `8124-${s.sandboxId}.${s.sandboxDomain}`)
  const headers = { host, 'e2b-traffic-access-token': s.trafficAccessToken }
  const url = process.env.E2B_API_URL
  await until(async () => (await get(url, headers)) === '200 served\n', 'the server answers')
  assert.match(await get(url, { host }), /^401/)
  await server.kill()
})

of('Sandbox.getMcpUrl', async (s) => assert.equal(s.getMcpUrl(), `https://${s.getHost(50005)}/mcp`))
of('Sandbox.getMcpToken', (s) => s.getMcpToken())
of('Sandbox.fork', (s) => s.fork())
of('Sandbox.createSnapshot', (s) => s.createSnapshot())
of('Sandbox.deleteSnapshot', async () => assert.equal(await Sandbox.deleteSnapshot('unknown'), false))
of('Sandbox.listSnapshots', async (s) => assert.deepEqual(await all(s.listSnapshots()), []))

// --- files

of('Sandbox.files', 'Filesystem.write', 'Filesystem.read', async (s) => {
  const info = await s.files.write('dir/a b.txt', 'text ✓')
  assert.deepEqual([info.name, info.path, info.type], ['a b.txt', '/workspace/dir/a b.txt', 'file'])
  assert.equal(await s.files.read('dir/a b.txt'), 'text ✓')
  const data = Uint8Array.from({ length: 1024 * 1024 }, (_, n) => n % 256)
  await s.files.write('/tmp/data.bin', data.buffer)
  assert.deepEqual(await s.files.read('/tmp/data.bin', { format: 'bytes' }), data)
  assert.equal((await s.files.read('/tmp/data.bin', { format: 'blob' })).size, data.length)
  let read = 0
  for await (const piece of await s.files.read('/tmp/data.bin', { format: 'stream' })) read += piece.length
  assert.equal(read, data.length)
  await s.files.write('/tmp/stream', new Blob(['streamed']).stream())
  assert.equal(await s.files.read('/tmp/stream'), 'streamed')
  await s.files.write('/tmp/packed', 'packed', { gzip: true })
  assert.equal(await s.files.read('/tmp/packed', { gzip: true }), 'packed')
  await fails(FileNotFoundError, () => s.files.read('missing'))
  await fails(InvalidArgumentError, () => s.files.write('/etc/passwd', 'x'))
})

of('Filesystem.writeFiles', async (s) => {
  const files = [0, 1, 2].map((n) => ({ path: `many/${n}.txt`, data: `content ${n}` }))
  const written = await s.files.writeFiles(files)
  assert.deepEqual(written.map((one) => one.path), files.map((one) => `/workspace/${one.path}`))
  assert.equal(await s.files.read('many/2.txt'), 'content 2')
})

of('Filesystem.list', async (s) => {
  await s.files.write('tree/a/c.txt', 'c')
  await s.files.write('tree/d.txt', 'd')
  await s.commands.run('ln -s d.txt tree/link')
  const found = await s.files.list('tree')
  // The type of a link is that of its target.
  assert.deepEqual(found.map((one) => [one.name, one.type]), [['a', 'dir'], ['d.txt', 'file'], ['link', 'file']])
  assert.equal(found[2].symlinkTarget, '/workspace/tree/d.txt')
  assert.equal((await s.files.list('tree', { depth: 2 })).length, 4)
  await fails(FileNotFoundError, () => s.files.list('missing'))
})

of('Filesystem.exists', 'Filesystem.getInfo', async (s) => {
  await s.files.write('info.txt', '12345')
  assert(await s.files.exists('info.txt'))
  assert(!(await s.files.exists('missing')))
  const info = await s.files.getInfo('info.txt')
  assert.deepEqual([info.size, info.mode, info.permissions], [5, 0o644, '-rw-r--r--'])
  assert(Math.abs(info.modifiedTime - Date.now()) < 600_000)
})

of('Filesystem.makeDir', 'Filesystem.rename', 'Filesystem.remove', async (s) => {
  assert.equal(await s.files.makeDir('new/below'), true)
  assert.equal(await s.files.makeDir('new/below'), false)
  assert.equal((await s.files.rename('new/below', 'moved/there')).path, '/workspace/moved/there')
  await s.files.remove('moved')
  assert(!(await s.files.exists('moved')))
  await fails(FileNotFoundError, () => s.files.rename('missing', 'x'))
})

of('Filesystem.watchDir', 'WatchHandle.stop', async (s) => {
  await s.files.makeDir('watched/sub')
  const seen = []
  let exit
  const handle = await s.files.watchDir('watched', (event) => void seen.push(event), {
    recursive: true,
    onExit: (error) => (exit = { error }),
  })
  await s.files.write('watched/sub/new', 'content')
  await until(() => seen.some((event) => event.name === 'sub/new' && event.type === 'create'), 'a new file')
  await handle.stop()
  await until(() => exit, 'the watch ends')
})

// --- commands

of('Sandbox.commands', 'Commands.run', async (s) => {
  const chunks = []
  const result = await s.commands.run('seq 3; echo oops >&2; printf %s "$WHO"; pwd', {
    envs: { WHO: "it's me " },
    cwd: '/tmp',
    onStdout: (text) => void chunks.push(text),
  })
  assert.deepEqual([result.stdout, result.stderr, result.exitCode], ["1\n2\n3\nit's me /tmp\n", 'oops\n', 0])
  assert.equal(chunks.join(''), result.stdout)
  const failed = await fails(CommandExitError, () => s.commands.run('echo out; exit 7'))
  assert.deepEqual([failed.exitCode, failed.stdout], [7, 'out\n'])
  await fails(sdk.TimeoutError, () => s.commands.run('sleep 60', { timeoutMs: 1000 }))
  const denied = await fails(CommandExitError, () => s.commands.run('git push --force'))
  assert.equal(denied.exitCode, 126)
  assert.match(denied.stderr, /^airlock: /)
})

of('Commands.list', 'Commands.kill', 'CommandHandle.kill', 'CommandHandle.pid', async (s) => {
  const handle = await s.commands.run('sleep 1000', { background: true })
  const found = (await s.commands.list()).find((one) => one.pid === handle.pid)
  assert.deepEqual([found.cmd, found.args], ['/bin/bash', ['-l', '-c', 'sleep 1000']])
  assert.equal(await s.commands.kill(handle.pid), true)
  await fails(CommandExitError, () => handle.wait())
  await until(async () => !(await s.commands.list()).some((one) => one.pid === handle.pid), 'it is not listed')
  assert.equal(await handle.kill(), false)
})

of('Commands.connect', 'CommandHandle.disconnect', 'CommandHandle.wait', async (s) => {
  const handle = await s.commands.run('echo first; read line; echo $line', { background: true, stdin: true })
  await handle.disconnect()
  const again = await s.commands.connect(handle.pid)
  await again.sendStdin('second\n')
  assert.equal((await again.wait()).stdout, 'first\nsecond\n')
  await fails(NotFoundError, () => s.commands.connect(4_000_000))
})

of(
  'Commands.sendStdin',
  'Commands.closeStdin',
  'Commands.supportsStdinClose',
  'CommandHandle.sendStdin',
  'CommandHandle.closeStdin',
  async (s) => {
    assert(s.commands.supportsStdinClose)
    const handle = await s.commands.run('cat', { background: true, stdin: true })
    await s.commands.sendStdin(handle.pid, 'one ')
    await handle.sendStdin('two')
    await s.commands.closeStdin(handle.pid)
    assert.equal((await handle.wait()).stdout, 'one two')
    const other = await s.commands.run('cat', { background: true, stdin: true })
    await other.closeStdin()
    assert.equal((await other.wait()).exitCode, 0)
  }
)

of(
  'CommandHandle.stdout',
  'CommandHandle.stderr',
  'CommandHandle.exitCode',
  'CommandHandle.error',
  async (s) => {
    const handle = await s.commands.run('echo out; echo err >&2; exit 2', { background: true })
    await fails(CommandExitError, () => handle.wait())
    const seen = [handle.stdout, handle.stderr, handle.exitCode, handle.error]
    assert.deepEqual(seen, ['out\n', 'err\n', 2, 'exit status 2'])
  }
)

// --- terminals

async function terminal(s, options = {}) {
  const seen = { text: '' }
  const onData = (data) => void (seen.text += Buffer.from(data).toString())
  return [seen, onData, await s.pty.create({ cols: 100, rows: 30, onData, ...options })]
}

const keys = (text) => new TextEncoder().encode(text)

of('Sandbox.pty', 'Pty.create', 'Pty.sendInput', 'Pty.resize', async (s) => {
  const [seen, , handle] = await terminal(s, { envs: { COLOUR: 'blue' }, cwd: '/tmp' })
  await s.pty.sendInput(handle.pid, keys('stty size; echo $COLOUR in $PWD\n'))
  await until(() => seen.text.includes('blue in /tmp'), 'the terminal answers')
  await s.pty.resize(handle.pid, { cols: 120, rows: 40 })
  await s.pty.sendInput(handle.pid, keys('stty size; exit\n'))
  await handle.wait()
  assert(seen.text.includes('30 100') && seen.text.includes('40 120'), seen.text)
})

of('Pty.connect', 'Pty.kill', async (s) => {
  const [, , handle] = await terminal(s)
  await handle.disconnect()
  let text = ''
  const again = await s.pty.connect(handle.pid, { onData: (data) => void (text += Buffer.from(data).toString()) })
  await s.pty.sendInput(handle.pid, keys('echo late $((40+2))\n'))
  await until(() => text.includes('late 42'), 'the terminal answers')
  assert.equal(await s.pty.kill(handle.pid), true)
  await fails(CommandExitError, () => again.wait())
  assert.equal(await s.pty.kill(4_000_000), false)
})

// --- git

const git =
  'init configureUser setConfig getConfig add commit status branches createBranch checkoutBranch deleteBranch ' +
  'remoteAdd remoteGet clone push pull reset restore'
of('Sandbox.git', ...git.split(' ').map((name) => `Git.${name}`), async (s) => {
  const { git } = s
  await git.configureUser('A Person', 'person@example.com')
  await git.setConfig('pull.rebase', 'false')
  assert.equal(await git.getConfig('user.email'), 'person@example.com')
  await git.init('/tmp/bare', { bare: true, initialBranch: 'main' })
  await git.init('/tmp/repo', { initialBranch: 'main' })
  await s.files.write('/tmp/repo/a.txt', 'one\n')
  assert((await git.status('/tmp/repo')).hasUntracked)
  await git.add('/tmp/repo')
  await git.commit('/tmp/repo', 'The first')
  await git.createBranch('/tmp/repo', 'other')
  await git.checkoutBranch('/tmp/repo', 'main')
  assert.equal((await git.branches('/tmp/repo')).currentBranch, 'main')
  await git.deleteBranch('/tmp/repo', 'other')
  await git.remoteAdd('/tmp/repo', 'origin', '/tmp/bare')
  assert.equal(await git.remoteGet('/tmp/repo', 'origin'), '/tmp/bare')
  await git.push('/tmp/repo', { remote: 'origin', branch: 'main' })
  await git.clone('/tmp/bare', { path: '/tmp/copy' })
  await s.files.write('/tmp/repo/b.txt', 'two\n')
  await git.add('/tmp/repo')
  await git.commit('/tmp/repo', 'The second')
  await git.push('/tmp/repo', { remote: 'origin', branch: 'main' })
  await git.pull('/tmp/copy')
  assert.equal(await s.files.read('/tmp/copy/b.txt'), 'two\n')
  await s.files.write('/tmp/copy/a.txt', 'changed\n')
  await git.restore('/tmp/copy', { paths: ['a.txt'] })
  assert.equal(await s.files.read('/tmp/copy/a.txt'), 'one\n')
  await s.files.write('/tmp/copy/c.txt', 'staged\n')
  await git.add('/tmp/copy')
  await git.reset('/tmp/copy')
  assert((await git.status('/tmp/copy')).hasUntracked)
})

of('Git.dangerouslyAuthenticate', async (s) => {
  await s.git.dangerouslyAuthenticate({ username: 'person', password: 'secret', host: 'git.example.com' })
  const known = await s.files.exists('~/.git-credentials')
  assert(known, '~/.gitconfig would name a program, so it is in quarantine, and git keeps no password')
})

// --- the report

async function outcome(s, check) {
  const late = sleep(LIMIT, undefined, { ref: false }).then(() => assert.fail('the case does not end'))
  try {
    await Promise.race([check(s), late])
    return 'works'
  } catch (error) {
    if (!(error instanceof SandboxError)) console.error(error)
    return `${error.constructor.name}: ${error.message}`.replaceAll(s.sandboxId, 'SANDBOX').split('\n')[0]
  }
}

const s = await Sandbox.create({ timeoutMs: 900_000, metadata: { purpose: 'methods' } })
try {
  const handle = await s.commands.run('true', { background: true })
  await handle.wait()
  const watch = await s.files.watchDir('/tmp', () => {})
  await watch.stop()
  const listed = methods([s, s.files, s.commands, s.pty, s.git, watch, handle, Sandbox.list()])
  const without = listed.filter((method) => !cases.has(method))
  const unknown = [...cases.keys()].filter((method) => !listed.includes(method))
  assert(!without.length && !unknown.length, `no case for ${without}; no such methods ${unknown}`)
  const known = new Map()
  for (const method of listed) {
    const check = cases.get(method)
    if (!known.has(check)) known.set(check, await outcome(s, check))
    console.log(`${method}\t${known.get(check)}`)
  }
} finally {
  await s.kill()
}
