// Runs both streamers of the official JavaScript client, and prints what they receive as lines of JSON.
// Arguments: folder with node_modules, settings as JSON.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, text] = process.argv.slice(2)
const settings = JSON.parse(text)
const require = createRequire(join(folder, 'index.js'))

// The client's own way of running in Node, as its README has it.
const WebSocket = require('ws')
globalThis.WebSocket = WebSocket
globalThis.window = { WebSocket, setTimeout, clearTimeout }

const { default: Client } = await import(pathToFileURL(require.resolve('@tastytrade/api')))
const client = new Client({
  baseUrl: settings.baseUrl,
  accountStreamerUrl: settings.accountStreamerUrl,
  clientSecret: settings.clientSecret,
  refreshToken: settings.refreshToken,
  oauthScopes: ['read', 'trade'],
  targetApiVersion: '20250813'
})
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n')

await client.httpClient.generateAccessToken()

const { accountStreamer, quoteStreamer } = client
accountStreamer.addMessageObserver((message) => {
  if (message.type) say({ streamer: 'account', type: message.type, data: message.data })
  else say({ streamer: 'account', type: message.action, data: { status: message.status } })
})
await accountStreamer.start()
await accountStreamer.subscribeToAccounts([settings.account])
await accountStreamer.subscribeTo('quote-alerts-subscribe')
await accountStreamer.subscribeTo('public-watchlists-subscribe')

quoteStreamer.addEventListener((events) => {
  for (const event of events) say({ streamer: 'quotes', type: event.eventType, data: event })
})
await quoteStreamer.connect()
quoteStreamer.subscribe(['AAPL', '.AAPL260717C200'])
quoteStreamer.subscribeCandles('AAPL', settings.candlesFrom, 1, 'm')
