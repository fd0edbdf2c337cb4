import { readStream } from './sse-connection.mjs';

// Opens many streams concurrently and prints the frames of each with their times. Runs in its own process.
const { url, headers, streams, prefix } = JSON.parse(process.argv[2]);
const readings = await Promise.all(
  Array.from({ length: streams }, async (_, nth) => {
    /** @type {{ taskId: string, frames: { id: number, time: number, text: string | undefined }[] }} */
    const reading = { taskId: '', frames: [] };
    const message = { messageId: `${prefix}-${nth}`, role: 'ROLE_USER', parts: [{ text: 'go' }] };
    await readStream(
      { url, headers },
      { method: 'SendStreamingMessage', params: { message } },
      ({ id, data, time }) => {
        const { task, statusUpdate, artifactUpdate } = data.result;
        reading.taskId ||= task?.id ?? '';
        const text = (statusUpdate?.status.message ?? artifactUpdate?.artifact)?.parts[0].text;
        reading.frames.push({ id, time, text });
      },
    );
    return reading;
  }),
);
console.log(JSON.stringify(readings));
