-- Rejects every UPDATE, DELETE and TRUNCATE of the table whose trigger calls it.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % is refused', tg_table_name, tg_op using errcode = 'AC403';
end $$;
