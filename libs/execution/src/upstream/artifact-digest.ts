import { createHash } from 'node:crypto';
import type { ArtifactView } from '@app/domain';

/**
 * A digest of an artifact's content that does not depend on how the content was cut into chunks. An artifact with an equal
 * digest needs no further publish.
 */
export class ArtifactDigest {
  private readonly hash = createHash('sha256');
  private fields: Partial<ArtifactView> = {};
  private endsInText = false;

  add({ parts, ...fields }: ArtifactView): this {
    this.fields = { ...this.fields, ...fields };
    for (const part of parts) {
      const isText = part.text !== undefined && Object.keys(part).length === 1;
      if (isText && this.endsInText) this.hash.update(part.text!);
      else this.hash.update(isText ? `\0text:${part.text!}` : `\0part:${JSON.stringify(part)}`);
      this.endsInText = isText;
    }
    return this;
  }

  get value(): string {
    const { name, description, metadata, extensions } = this.fields;
    return `${this.hash.copy().digest('hex')} ${JSON.stringify([name, description, metadata, extensions])}`;
  }
}
