-- Returns the hash of an audit entry: the SHA-256 of its columns, each with its length in bytes (32 bits, big-endian) as prefix.
-- `auditHash` in libs/access computes the same hash.
create or replace function audit_hash(p_columns text[]) returns bytea language sql stable strict parallel safe as $$
  select sha256(string_agg(int4send(octet_length(c.bytes)) || c.bytes, ''::bytea order by c.i))
  from (select convert_to(u.value, 'UTF8') as bytes, u.i from unnest(p_columns) with ordinality as u (value, i)) c
$$;
