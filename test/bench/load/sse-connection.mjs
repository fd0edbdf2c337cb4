import { request } from 'node:http';

/**
 * Posts a JSON-RPC call and reads the response as server-sent events, to its end. `onFrame` gets the id and data of each frame
 * and the time at which it was read, in milliseconds since the epoch.
 *
 * @param {{ url: string, headers: Record<string, string> }} server
 * @param {object} call
 * @param {(frame: { id: number, data: any, time: number }) => void} onFrame
 * @returns {Promise<void>}
 */
export function readStream({ url, headers }, call, onFrame) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'A2A-Version': '1.0' },
    };
    const posted = request(url, { ...options, agent: false }, (response) => {
      response.setEncoding('utf8');
      let rest = '';
      response.on('data', (chunk) => {
        const time = Date.now();
        const frames = (rest + chunk).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const id = /^id: (\d+)$/m.exec(frame)?.[1];
          const data = /^data: (.*)$/m.exec(frame)?.[1];
          if (data !== undefined) onFrame({ id: Number(id), data: JSON.parse(data), time });
        }
      });
      response.on('end', resolve);
      response.on('error', reject);
    });
    posted.on('error', reject);
    posted.end(body);
  });
}
