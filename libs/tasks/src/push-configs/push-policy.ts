import { DomainError, invalidField } from '@app/domain';
import { TargetRules } from '@app/network';
import type { WebhookTarget } from '@app/storage';

/** Decides whether the server offers webhooks, and which targets they may have. */
export class PushPolicy {
  readonly targets: TargetRules;

  constructor(
    private readonly offered: boolean,
    /** Allow http, and addresses that are not public. */
    allowPrivate: boolean,
  ) {
    this.targets = new TargetRules(allowPrivate);
  }

  /** Errors: PushNotificationNotSupported. */
  requireOffered(): void {
    if (this.offered) return;
    throw new DomainError(
      'PushNotificationNotSupported',
      'this server does not offer push notifications; poll the task, or use a stream',
      {},
    );
  }

  /**
   * Checks a target without resolving its host name, which each delivery resolves and checks. Errors: InvalidParameters.
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
