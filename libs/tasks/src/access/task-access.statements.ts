import { insertAuditEntry } from '@app/access';
import type { NamedStatement } from '@app/storage';

/**
 * The parameters of a statement that checks and records access, as SQL expressions: whose access it is, and what an entry of
 * the audit log states.
 */
export const CALLER_PARAMETERS = {
  tenant: '$1::text',
  everyTask: '$2::boolean',
  subject: '$3::text',
  rings: '$4::text[]',
} as const;

/** The condition for a task `t` that the caller can access, from the expressions of the caller. */
export const accessCondition = ({ tenant, everyTask, subject, rings }: typeof CALLER_PARAMETERS): string =>
  `can_access(${tenant}, ${everyTask}, ${subject}, ${rings}, t.tenant_id, t.owner, t.ring)`;

/**
 * Inserts an entry into the audit log for the tasks `accessed (task_id, owner)`, if any of them needs one. `access` has one row:
 * the columns of the entry, the operation, its filter, and whether tasks of the caller itself are recorded. Both are names in
 * the WITH clause of the statement that reads the tasks, so the read fails if the entry cannot be written.
 */
export const RECORD_ACCESS = insertAuditEntry(
  {
    tenantId: 'e.tenant_id',
    entryId: 'e.entry_id',
    type: `'TaskAccessed'`,
    facts: 'e.facts',
    actorSubject: 'e.subject',
    actorRole: 'e.role',
    recordedAt: 'e.recorded_at',
    epoch: 'e.epoch',
  },
  `from (
    select a.*, json_strip_nulls(json_build_object('operation', a.operation, 'filter', a.filter::json, 'taskIds', x.ids))::text as facts
    from access a, lateral (
      select json_agg(d.task_id) as ids from accessed d where a.own_tasks or d.owner <> a.subject
    ) x
    where x.ids is not null
  ) e`,
);

/** $5 task ids, $6 agent or null, $7 whether direct message responses count, $8 and $9 subject and id of a message. */
const FIND_TASKS = `select t.task_id, t.owner, t.state, t.head_hash, k.wrapped_key, k.key_id,
    r.task_id as receipt_task, r.fingerprint as receipt_fingerprint
  from task t
  left join task_key k on k.tenant_id = t.tenant_id and k.task_id = t.task_id
  left join message_receipt r on r.tenant_id = t.tenant_id and r.subject = $8::text and r.message_id = $9::text
  where t.tenant_id = $1 and t.task_id = any($5::uuid[]) and ${accessCondition(CALLER_PARAMETERS)}
    and ($6::text is null or t.agent = $6) and ($7::boolean or t.status <> 'replied')`;

/** Selects the heads of the tasks that the caller can access. */
export const FIND_ACCESSIBLE: NamedStatement = { name: 'find_accessible_tasks', text: FIND_TASKS };

/** Selects the same tasks, and records the access. */
export const FIND_AND_RECORD: NamedStatement = {
  name: 'find_and_record_tasks',
  text: `with accessed as materialized (${FIND_TASKS}),
    access as (
      select $1::text as tenant_id, $10::text as entry_id, $11::text as operation, null::text as filter,
        $3::text as subject, $12::text as role, $13::text as recorded_at, $14::integer as epoch, $15::boolean as own_tasks
    ),
    recorded as (${RECORD_ACCESS})
    select * from accessed`,
};
