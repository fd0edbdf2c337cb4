-- Returns whether a caller can access a task: with p_every_task every task of its tenant, otherwise its own tasks in its rings. This
-- is the only definition of the rule in SQL. Postgres inlines it, so that it can use an index. `canAccess` in libs/domain is the same
-- rule for a task that is in memory.
create or replace function can_access(
  p_tenant text, p_every_task boolean, p_subject text, p_rings text[], p_task_tenant text, p_task_owner text, p_task_ring text
) returns boolean language sql immutable parallel safe as $$
  select p_task_tenant = p_tenant and (p_every_task or (p_task_owner = p_subject and p_task_ring = any (p_rings)))
$$;
