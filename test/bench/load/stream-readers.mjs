import { readStream } from './sse-connection.mjs';

// Opens many streams of sends at once and says of each what came, when. In a process of its own.
const { url, headers, streams, load } = JSON.parse(process.argv[2]);
const readings = await Promise.all(
  Array.from({ length: streams }, async (_, nth) => {
    /** @type {{ taskId: string, frames: { id: number, at: number, text: string | undefined }[] }} */
    const reading = { taskId: '', frames: [] };
    const message = { messageId: `${load}-${nth}`, role: 'ROLE_USER', parts: [{ text: 'go' }] };
    await readStream({ url, headers }, { method: 'SendStreamingMessage', params: { message } }, ({ id, data, at }) => {
      const { task, statusUpdate, artifactUpdate } = data.result;
      reading.taskId ||= task?.id ?? '';
      const text = (statusUpdate?.status.message ?? artifactUpdate?.artifact)?.parts[0].text;
      reading.frames.push({ id, at, text });
    });
    return reading;
  }),
);
console.log(JSON.stringify(readings));
