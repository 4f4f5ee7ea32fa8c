// Makes the calls of the official JavaScript client, one for each line of standard input, and answers each with a line
// of JSON. Arguments: folder with node_modules, settings as JSON.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// The client's own way of running in Node: with a `window`, it leaves the User-Agent to axios.
globalThis.window = { setTimeout, clearTimeout }

const [folder, text] = process.argv.slice(2)
const settings = JSON.parse(text)
const require = createRequire(join(folder, 'index.js'))
const { default: Client } = await import(pathToFileURL(require.resolve('@tastytrade/api')))
const client = new Client({
  baseUrl: settings.baseUrl,
  clientSecret: settings.clientSecret,
  refreshToken: settings.refreshToken,
  oauthScopes: ['read', 'trade'],
  targetApiVersion: '20250813'
})
const {
  accountStatusService, accountsAndCustomersService, balancesAndPositionsService, instrumentsService,
  marginRequirementsService, marketMetricsService, netLiquidatingValueHistoryService, orderService,
  riskParametersService, symbolSearchService, transactionsService, watchlistsService
} = client

const { account, rich, option, warrant, futureOption, complexOrder } = settings
const orders = {}
const leg = { symbol: 'AAPL', 'instrument-type': 'Equity', action: 'Buy to Open', quantity: '10' }
const limit = (price) => ({
  'order-type': 'Limit', 'time-in-force': 'Day', price, 'price-effect': 'Debit', source: 'interop', legs: [leg]
})
const edit = (price) => ({ 'order-type': 'Limit', 'time-in-force': 'Day', price, 'price-effect': 'Debit' })
const margin = {
  'account-number': account, 'underlying-symbol': 'AAPL', 'underlying-instrument-type': 'Equity',
  'order-type': 'Limit', 'time-in-force': 'Day', price: '100.00', 'price-effect': 'Debit', legs: [leg]
}
const closing = { source: 'interop', 'time-in-force': 'GTC', legs: [{ ...leg, action: 'Sell to Close' }] }
const complex = {
  type: 'OCO',
  orders: [
    { ...closing, 'order-type': 'Limit', price: '400.00', 'price-effect': 'Credit' },
    { ...closing, 'order-type': 'Stop', 'stop-trigger': '50.00' }
  ]
}
const watchlist = { name: 'Mine', 'watchlist-entries': [{ symbol: 'AAPL', 'instrument-type': 'Equity' }] }
// The client has no parameter for the accounts of a customer's live orders, which the interface requires.
const customer = `me/orders/live?account-numbers[]=${account}&rest=`

async function place (name, price) {
  const placed = await orderService.createOrder(account, limit(price))
  orders[name] = placed.order.id
  return placed
}

async function replaced (method) {
  for (let tries = 0; tries < 100; tries++) { // an order cannot be changed before it is live
    if ((await orderService.getOrder(account, orders.resting)).status === 'Live') break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const order = await orderService[method](account, orders.resting, edit('101.00'))
  orders.resting = order.id
  return order
}

async function first (method) {
  const lists = await watchlistsService[`${method}s`]()
  return watchlistsService[method](encodeURIComponent(lists[0].name))
}

const calls = {
  'httpClient.generateAccessToken': () => client.httpClient.generateAccessToken(),
  'accountsAndCustomersService.getCustomerAccounts': () => accountsAndCustomersService.getCustomerAccounts(),
  'accountsAndCustomersService.getCustomerResource': () => accountsAndCustomersService.getCustomerResource(),
  'accountsAndCustomersService.getCustomerAccountResources': () => accountsAndCustomersService.getCustomerAccountResources(),
  'accountsAndCustomersService.getFullCustomerAccountResource': () => accountsAndCustomersService.getFullCustomerAccountResource(account),
  'accountsAndCustomersService.getApiQuoteToken': () => accountsAndCustomersService.getApiQuoteToken(),
  'accountStatusService.getAccountStatus': () => accountStatusService.getAccountStatus(account),
  'balancesAndPositionsService.getPositionsList': () => balancesAndPositionsService.getPositionsList(rich),
  'balancesAndPositionsService.getAccountBalanceValues': () => balancesAndPositionsService.getAccountBalanceValues(account),
  'balancesAndPositionsService.getBalanceSnapshots': () => balancesAndPositionsService.getBalanceSnapshots(account),
  'instrumentsService.getCryptocurrencies': () => instrumentsService.getCryptocurrencies(['BTC/USD']),
  'instrumentsService.getSingleCryptocurrency': () => instrumentsService.getSingleCryptocurrency('BTC/USD'),
  'instrumentsService.getActiveEquities': () => instrumentsService.getActiveEquities({ 'per-page': 10 }),
  'instrumentsService.getEquityDefinitions': () => instrumentsService.getEquityDefinitions({ symbol: ['AAPL', 'BRK/B'] }),
  'instrumentsService.getEquityDefinitions (page)': () => instrumentsService.getEquityDefinitions({ perPage: 50, pageOffset: 1, isEtf: true }),
  'instrumentsService.getSingleEquity': () => instrumentsService.getSingleEquity('AAPL'),
  'instrumentsService.getEquityOptions': () => instrumentsService.getEquityOptions([option], true, true),
  'instrumentsService.getSingleEquityOption': () => instrumentsService.getSingleEquityOption(option),
  'instrumentsService.getFutures': () => instrumentsService.getFutures({ 'product-code': ['ES'] }),
  'instrumentsService.getSingleFuture': () => instrumentsService.getSingleFuture('ESU6'),
  'instrumentsService.getFutureOptionsProducts': () => instrumentsService.getFutureOptionsProducts(),
  'instrumentsService.getSingleFutureOptionProduct': () => instrumentsService.getSingleFutureOptionProduct('CME', 'ES'),
  'instrumentsService.getFutureOptions': () => instrumentsService.getFutureOptions({ symbol: [futureOption] }),
  'instrumentsService.getSingleFutureOption': () => instrumentsService.getSingleFutureOption(encodeURIComponent(futureOption)),
  'instrumentsService.getFuturesProducts': () => instrumentsService.getFuturesProducts(),
  'instrumentsService.getSingleFutureProduct': () => instrumentsService.getSingleFutureProduct('CME', 'ES'),
  'instrumentsService.getQuantityDecimalPrecisions': () => instrumentsService.getQuantityDecimalPrecisions(),
  'instrumentsService.getWarrants': () => instrumentsService.getWarrants(),
  'instrumentsService.getSingleWarrant': () => instrumentsService.getSingleWarrant(warrant),
  'instrumentsService.getNestedFutureOptionChains': () => instrumentsService.getNestedFutureOptionChains('ES'),
  'instrumentsService.getFutureOptionChain': () => instrumentsService.getFutureOptionChain('ES'),
  'instrumentsService.getNestedOptionChain': () => instrumentsService.getNestedOptionChain('AAPL'),
  'instrumentsService.getCompactOptionChain': () => instrumentsService.getCompactOptionChain('AAPL'),
  'instrumentsService.getOptionChain': () => instrumentsService.getOptionChain('AAPL'),
  'marketMetricsService.getMarketMetrics': () => marketMetricsService.getMarketMetrics({ symbols: 'AAPL' }),
  'marketMetricsService.getHistoricalDividendData': () => marketMetricsService.getHistoricalDividendData('AAPL'),
  'marketMetricsService.getHistoricalEarningsData': () => marketMetricsService.getHistoricalEarningsData('AAPL', { startDate: '2024-01-01' }),
  'symbolSearchService.getSymbolData': () => symbolSearchService.getSymbolData('AAPL'),
  'orderService.postOrderDryRun': () => orderService.postOrderDryRun(account, limit('100.00')),
  'orderService.createOrder (filled)': () => place('filled', '300.00'),
  'orderService.createOrder (resting)': () => place('resting', '100.00'),
  'orderService.getOrder': () => orderService.getOrder(account, orders.filled),
  'orderService.getLiveOrders': () => orderService.getLiveOrders(account),
  'orderService.getOrders': () => orderService.getOrders(account, { perPage: 5, sort: 'Asc', status: ['Filled', 'Live'] }),
  'orderService.getLiveOrdersForCustomer': () => orderService.getLiveOrdersForCustomer(customer),
  'orderService.getCustomerOrders': () => orderService.getCustomerOrders('me', { accountNumbers: [account], startDate: '2026-06-01' }),
  'orderService.replacementOrderDryRun': () => orderService.replacementOrderDryRun(account, orders.resting, edit('101.00')),
  'orderService.replaceOrder': () => replaced('replaceOrder'),
  'orderService.editOrder': () => replaced('editOrder'),
  'orderService.cancelOrder': () => orderService.cancelOrder(account, orders.resting),
  'orderService.postReconfirmOrder': () => orderService.postReconfirmOrder(account, orders.filled),
  'orderService.createComplexOrder': () => orderService.createComplexOrder(rich, complex),
  'orderService.cancelComplexOrder': () => orderService.cancelComplexOrder(rich, complexOrder),
  'marginRequirementsService.getMarginRequirements': () => marginRequirementsService.getMarginRequirements(rich),
  'marginRequirementsService.postMarginRequirements': () => marginRequirementsService.postMarginRequirements(account, margin),
  'riskParametersService.getEffectiveMarginRequirements': () => riskParametersService.getEffectiveMarginRequirements(account, 'AAPL'),
  'riskParametersService.getPositionLimit': () => riskParametersService.getPositionLimit(account),
  'netLiquidatingValueHistoryService.getNetLiquidatingValueHistory': () => netLiquidatingValueHistoryService.getNetLiquidatingValueHistory(account, { 'time-back': '1m' }),
  'netLiquidatingValueHistoryService.getNetLiquidatingValue': () => netLiquidatingValueHistoryService.getNetLiquidatingValue(account),
  'transactionsService.getAccountTransactions': () => transactionsService.getAccountTransactions(rich, { perPage: 5, types: ['Money Movement'] }),
  'transactionsService.getTransaction': () => transactionsService.getTransaction(account, 700000001),
  'transactionsService.getTotalFees': () => transactionsService.getTotalFees(account),
  'watchlistsService.createAccountWatchlist': () => watchlistsService.createAccountWatchlist(watchlist),
  'watchlistsService.getAllWatchlists': () => watchlistsService.getAllWatchlists(),
  'watchlistsService.getSingleWatchlist': () => watchlistsService.getSingleWatchlist('Mine'),
  'watchlistsService.replaceWatchlist': () => watchlistsService.replaceWatchlist('Mine', watchlist),
  'watchlistsService.deleteWatchlist': () => watchlistsService.deleteWatchlist('Mine'),
  'watchlistsService.getPairsWatchlists': () => watchlistsService.getPairsWatchlists(),
  'watchlistsService.getPairsWatchlist': () => first('getPairsWatchlist'),
  'watchlistsService.getPublicWatchlists': () => watchlistsService.getPublicWatchlists(),
  'watchlistsService.getPublicWatchlist': () => first('getPublicWatchlist')
}

function problemOf (error) {
  const body = error.response?.data
  return body ? `${error.response.status} ${JSON.stringify(body).slice(0, 200)}` : String(error)
}

const say = (answer) => process.stdout.write(JSON.stringify(answer) + '\n')
say(Object.keys(calls))
for await (const name of createInterface({ input: process.stdin })) {
  try {
    const answer = await calls[name]()
    const empty = answer === undefined || answer === null || Object.keys(answer).length === 0
    say(empty ? 'the answer is empty' : null)
  } catch (error) {
    say(problemOf(error))
  }
}
