import type { Flow } from '../graph/flow';

/** Something small that shows a wait, its answer and its deadline. */
export const EXAMPLE: Flow = {
  head: { name: 'Order with payment' },
  rest: {},
  nodes: [
    {
      id: 'received',
      type: 'LOG',
      config: { message: 'Order #{orderId} has come in' },
      rest: { name: 'Order received' },
    },
    {
      id: 'payment',
      type: 'wait_events',
      config: {
        events: [{ name: 'paid', source: 'callback' }],
        timeout: '10m',
        onTimeout: 'continue_with_partial',
      },
      rest: { name: 'Wait for the payment' },
    },
    { id: 'done', type: 'LOG', config: { message: 'Order #{orderId} goes on' }, rest: { name: 'Go on' } },
  ],
  edges: [
    { from: 'received', to: 'payment', type: 'goto' },
    { from: 'payment', to: 'done', type: 'goto' },
  ],
};
