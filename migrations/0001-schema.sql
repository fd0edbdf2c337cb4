-- The tables in which `acta migrate` records what it has applied.

create table schema_version (
  only_row boolean primary key default true check (only_row),
  number integer not null,
  oldest_compatible integer not null,
  applied_at timestamptz(3) not null default clock_timestamp()
);
comment on table schema_version is 'The schema number of this database. It only rises. One row.';
comment on column schema_version.only_row is 'Always true, so that the table has at most one row.';
comment on column schema_version.number is 'The number in migrations/version.json of the program that changed the schema last.';
comment on column schema_version.oldest_compatible is
  'The lowest schema number whose program can use this schema. It lets servers of the previous version run during an upgrade.';
comment on column schema_version.applied_at is 'When the number was set, in database time.';

create table schema_migration (
  name text collate "C" primary key,
  checksum bytea not null,
  applied_at timestamptz(3) not null default clock_timestamp()
);
comment on table schema_migration is 'The migration files and function files that were applied to this database.';
comment on column schema_migration.name is
  'The path of the file below migrations/, without its extension. A function file is applied again with each schema number.';
comment on column schema_migration.checksum is
  'The SHA-256 of the file. A file that was edited after it was applied has a different checksum.';
comment on column schema_migration.applied_at is 'When the file was applied, in database time.';
