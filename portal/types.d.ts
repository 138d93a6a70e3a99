// What the bundler makes of files that are not code: their address.

declare module "*.svg" {
  const address: string;
  export default address;
}
