import { DomainError, invalidField } from '@app/domain';
import { TargetRules } from '@app/network';
import type { WebhookTarget } from '@app/storage';

/** Whether webhooks are told of tasks, and where they may be. */
export class PushPolicy {
  readonly targets: TargetRules;

  constructor(
    private readonly offered: boolean,
    /** http, and addresses that are not public. */
    allowPrivate: boolean,
  ) {
    this.targets = new TargetRules(allowPrivate);
  }

  /** Errors: PushNotificationNotSupported. */
  requireOffered(): void {
    if (this.offered) return;
    throw new DomainError('PushNotificationNotSupported', 'this agent does not send push notifications', {});
  }

  /**
   * Refuses a target that could never be told. Where its name leads is seen when it is told, each time.
   * Errors: InvalidParameters.
   */
  check({ url, token, authentication }: WebhookTarget): void {
    const problem = this.targets.urlProblem(url);
    if (problem !== null) throw invalidField('url', problem);
    const headers = [
      ['token', token],
      ['authentication.scheme', authentication?.scheme],
      ['authentication.credentials', authentication?.credentials],
    ] as const;
    for (const [field, value] of headers) {
      if (value !== undefined && !/^[\x20-\x7e]*$/.test(value)) {
        throw invalidField(field, 'must be printable ASCII, because it is sent as a header');
      }
    }
  }
}
