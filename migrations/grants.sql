-- Gives an application role the rights that servers, workers and the command line need, and no others. The owner of the schema
-- runs it with `acta migrate --grant acta_app`, or with psql -v role=acta_app -v schema=public -f migrations/grants.sql.
-- Each statement replaces what an earlier run granted. The first list contains every table.

revoke all on schema_version, schema_migration, server_state, server_key, event, task_key, task, context, message_receipt, message,
  artifact_chunk, run_queue, push_config, push_delivery, api_key, audit_entry from :"role", public;

grant usage on schema :"schema" to :"role";

grant select on schema_version, schema_migration to :"role";
-- Nobody but the owner can change or remove what is recorded.
grant select, insert on event, audit_entry, task_key, server_key to :"role";
grant select, insert, update on server_state, api_key to :"role";
grant select, insert, update, delete on task, context, message_receipt, message, artifact_chunk, run_queue to :"role";
grant select, insert, update, delete on push_config, push_delivery to :"role";

-- A loop, because a function of the previous version can have the same name.
select set_config('acta.role', :'role', false);
do $$
declare
  f regprocedure;
begin
  for f in
    select p.oid from pg_proc p join pg_class c on c.oid = 'schema_version'::regclass and c.relnamespace = p.pronamespace
    where p.proname in ('append_events', 'audit_hash', 'can_access', 'settle_push', 'write_pushes', 'write_read_models')
  loop
    execute format('revoke all on function %s from public', f);
    execute format('grant execute on function %s to %I', f, current_setting('acta.role'));
  end loop;
end $$;
